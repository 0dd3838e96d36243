#include "bmp_samples.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "support.h"

namespace ridgeline::image::test {
namespace {

enum class Coding { plain, masks, runs };
struct Kind {
  int bits, header;
  Coding coding = Coding::plain;
  std::array<std::uint32_t, 4> masks{};
  int colours = 0;     // 0: as many as the number of bits allows
  bool greys = false;  // a scale of them
};
const std::vector<Kind>& kinds() {
  using C = Coding;
  static const std::vector<Kind> all{
      {1, 40},
      {1, 12},
      {4, 40},
      {4, 12},
      {8, 40},
      {8, 12},
      {8, 108},
      {8, 40, C::plain, {}, 100},
      {8, 40, C::plain, {}, 0, true},
      {8, 64, C::plain, {}, 200, true},
      {16, 40},
      {16, 40, C::masks, {0xf800, 0x7e0, 0x1f, 0}},
      {16, 56, C::masks, {0x7c00, 0x3e0, 0x1f, 0}},
      {24, 40},
      {24, 12},
      {24, 124},
      {24, 52, C::masks, {0xff0000, 0xff00, 0xff, 0}},
      {32, 40},
      {32, 40, C::masks, {0xff0000, 0xff00, 0xff, 0}},
      {32, 56, C::masks, {0xff000000, 0xff0000, 0xff00, 0}},
      {32, 56, C::masks, {0xff000000, 0xff00, 0xff, 0}},
      {32, 108, C::masks, {0xff000000, 0xff0000, 0xff00, 0xff}},
      {32, 124, C::masks, {0xff, 0xff00, 0xff0000, 0xff000000}},
      {32, 124, C::masks, {0xff0000, 0xff00, 0xff, 0xff000000}},
      {32, 56, C::masks, {0xff000000, 0xff00, 0xff, 0xff0000}},
      {32, 56, C::masks, {0, 0, 0, 0}},
      {8, 40, C::runs},
      {8, 108, C::runs, {}, 30},
      {8, 40, C::runs, {}, 0, true},
      {4, 40, C::runs},
  };
  return all;
}

std::uint8_t byte_of(SampleRandom& random) { return static_cast<std::uint8_t>(random.integer(0, 255)); }

std::string palette_of(const Kind& kind, int colours, SampleRandom& random) {
  std::string palette;
  for (int i = 0; i < colours; ++i) {
    for (int c = 0; c < 3; ++c) palette += static_cast<char>(kind.greys ? i : byte_of(random));
    if (kind.header != 12) palette += '\0';
  }
  return palette;
}

std::string row_of(int width, const Kind& kind, SampleRandom& random) {
  std::string row;
  for (int i = 0; i < (width * kind.bits + 7) / 8; ++i) row += static_cast<char>(byte_of(random));
  row.resize((row.size() + 3) / 4 * 4);
  return row;
}

// Runs of one value and of several, in even numbers: Pillow loses the last of an odd number of 4-bit values.
std::string runs_of_row(int width, int bits, SampleRandom& random) {
  std::string runs;
  for (int x = 0; x < width;) {
    const int left = width - x;
    if (left >= 4 && random.integer(0, 1) == 0) {
      const int count = static_cast<int>(random.integer(2, std::min(left, 100) / 2)) * 2;
      runs += '\0';
      runs += static_cast<char>(count);
      const int bytes = bits == 4 ? count / 2 : count;
      for (int i = 0; i < bytes; ++i) runs += static_cast<char>(byte_of(random));
      if (bytes % 2 != 0) runs += '\0';
      x += count;
    } else {
      const int count = static_cast<int>(random.integer(1, std::min(left, 255)));
      runs += static_cast<char>(count);
      runs += static_cast<char>(byte_of(random));
      x += count;
    }
  }
  return runs + std::string("\0\0", 2);
}

}  // namespace

int bmp_kinds() { return static_cast<int>(kinds().size()); }

bool has_runs(int kind) { return kinds()[static_cast<std::size_t>(kind)].coding == Coding::runs; }

std::string make_bmp(int number, SampleRandom& random) {
  const Kind& kind = kinds()[static_cast<std::size_t>(number)];
  const int width = static_cast<int>(random.integer(1, 40)), height = static_cast<int>(random.integer(1, 20));
  const bool top_down = kind.header != 12 && random.integer(0, 3) == 0;
  const int colours = kind.bits > 8 ? 0 : kind.colours != 0 ? kind.colours : 1 << kind.bits;
  const std::uint32_t compression = kind.coding == Coding::masks   ? 3
                                    : kind.coding == Coding::plain ? 0
                                    : kind.bits == 8               ? 1
                                                                   : 2;

  std::string header = little_endian(static_cast<std::uint64_t>(kind.header), 4);
  if (kind.header == 12) {
    header += little_endian(static_cast<std::uint64_t>(width), 2) +
              little_endian(static_cast<std::uint64_t>(height), 2) + little_endian(1, 2) +
              little_endian(static_cast<std::uint64_t>(kind.bits), 2);
  } else {
    const std::int64_t signed_height = top_down ? -height : height;
    header += little_endian(static_cast<std::uint64_t>(width), 4) +
              little_endian(static_cast<std::uint64_t>(signed_height), 4) + little_endian(1, 2) +
              little_endian(static_cast<std::uint64_t>(kind.bits), 2) + little_endian(compression, 4) +
              little_endian(0, 4) + little_endian(2835, 4) + little_endian(2835, 4) +
              little_endian(static_cast<std::uint64_t>(kind.colours), 4) + little_endian(0, 4);
  }
  if (kind.coding == Coding::masks) {
    const std::size_t count = kind.header >= 56 ? 4 : 3;
    for (std::size_t i = 0; i < count; ++i) header += little_endian(kind.masks[i], 4);
  }
  header.resize(std::max(header.size(), static_cast<std::size_t>(kind.header)));
  const std::string palette = palette_of(kind, colours, random);
  std::string pixels;
  for (int y = 0; y < height; ++y)
    pixels += kind.coding == Coding::runs ? runs_of_row(width, kind.bits, random) : row_of(width, kind, random);
  if (kind.coding == Coding::runs) pixels += std::string("\0\1", 2);
  const std::size_t offset = 14 + header.size() + palette.size();
  return "BM" + little_endian(offset + pixels.size(), 4) + little_endian(0, 4) + little_endian(offset, 4) + header +
         palette + pixels;
}

}  // namespace ridgeline::image::test
