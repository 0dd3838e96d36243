#include "png_samples.h"

#include <zlib.h>

#include <array>

namespace ridgeline::image::test {
namespace {

struct Kind {
  int depth, type, channels;
};
constexpr std::array<Kind, 15> kKinds{{{1, 0, 1},
                                       {2, 0, 1},
                                       {4, 0, 1},
                                       {8, 0, 1},
                                       {16, 0, 1},
                                       {8, 2, 3},
                                       {16, 2, 3},
                                       {1, 3, 1},
                                       {2, 3, 1},
                                       {4, 3, 1},
                                       {8, 3, 1},
                                       {8, 4, 2},
                                       {16, 4, 2},
                                       {8, 6, 4},
                                       {16, 6, 4}}};

std::string be32(std::uint64_t v) {
  return {static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8), static_cast<char>(v)};
}

std::string random_bytes(SampleRandom& random, std::size_t count) {
  std::string bytes(count, '\0');
  for (char& b : bytes) b = static_cast<char>(random.bits());
  return bytes;
}

// Rows of random filters over random differences: the pixels are whatever results.
std::string raw_rows(const Kind& kind, int width, int height, bool interlaced, SampleRandom& random) {
  constexpr std::array<std::array<int, 4>, 7> kAdam7{
      {{0, 0, 8, 8}, {0, 4, 8, 8}, {4, 0, 8, 4}, {0, 2, 4, 4}, {2, 0, 4, 2}, {0, 1, 2, 2}, {1, 0, 2, 1}}};
  std::string rows;
  const auto add = [&](int pixels, int count) {
    for (int y = 0; pixels > 0 && y < count; ++y) {
      rows += static_cast<char>(random.integer(0, 4));
      rows += random_bytes(random, static_cast<std::size_t>((pixels * kind.depth * kind.channels + 7) / 8));
    }
  };
  if (!interlaced) {
    add(width, height);
    return rows;
  }
  for (const auto& [top, left, down, right] : kAdam7)
    add((width - left + right - 1) / right, (height - top + down - 1) / down);
  return rows;
}

std::string deflated(const std::string& bytes, int level) {
  uLongf size = ::compressBound(bytes.size());
  std::string out(size, '\0');
  ::compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(),
              level);
  out.resize(size);
  return out;
}

}  // namespace

std::string PngSample::bytes() const {
  std::string out = "\x89PNG\r\n\x1a\n";
  for (const PngChunk& chunk : chunks) {
    const std::string covered = chunk.name + chunk.data;
    out += be32(chunk.data.size()) + covered;
    out += !chunk.checksum.empty()
               ? chunk.checksum
               : be32(::crc32(0, reinterpret_cast<const Bytef*>(covered.data()), static_cast<uInt>(covered.size())));
  }
  return out + tail;
}

int png_kinds() { return 2 * static_cast<int>(kKinds.size()); }

PngSample make_png(int number, SampleRandom& random) {
  const Kind& kind = kKinds[static_cast<std::size_t>(number / 2)];
  const bool interlaced = number % 2 == 1;
  const auto width = static_cast<int>(random.integer(1, 40)), height = static_cast<int>(random.integer(1, 30));
  PngSample png;
  png.chunks.push_back({"IHDR", be32(static_cast<std::uint64_t>(width)) + be32(static_cast<std::uint64_t>(height)) +
                                    static_cast<char>(kind.depth) + static_cast<char>(kind.type) +
                                    std::string(2, '\0') + static_cast<char>(interlaced)});
  const auto sometimes = [&](const char* name, const std::string& data) {
    if (random.integer(0, 3) == 0) png.chunks.push_back({name, data});
  };
  sometimes("gAMA", be32(45455));
  sometimes("cHRM", random_bytes(random, 32));
  sometimes("sRGB", std::string(1, '\0'));
  sometimes("iCCP", "profile" + std::string(2, '\0') + deflated("a profile", 9));
  if (kind.type == 3) {
    const std::int64_t colours = random.integer(1, 1 << kind.depth);  // perhaps fewer than the pixels need
    png.chunks.push_back({"PLTE", random_bytes(random, static_cast<std::size_t>(3 * colours))});
    sometimes("tRNS", random_bytes(random, static_cast<std::size_t>(random.integer(1, colours))));
  } else if (kind.type < 3) {
    sometimes("tRNS", random_bytes(random, kind.type == 0 ? 2 : 6));
  }
  sometimes("pHYs", be32(2835) + be32(2835) + "\1");
  sometimes("tEXt", "Title" + std::string(1, '\0') + "a picture");
  sometimes("zTXt", "Comment" + std::string(2, '\0') + deflated("of no use", 9));
  sometimes("vpAg", random_bytes(random, 9));
  const bool animated = random.integer(0, 7) == 0;
  std::uint64_t frame = 0;
  const auto control = [&] {
    return be32(frame++) + be32(static_cast<std::uint64_t>(width)) + be32(static_cast<std::uint64_t>(height)) +
           be32(0) + be32(0) + std::string("\0\1\0\12\0\0", 6);
  };
  if (animated) {
    png.chunks.push_back({"acTL", be32(static_cast<std::uint64_t>(random.integer(1, 2))) + be32(0)});
    if (random.integer(0, 1) == 0) png.chunks.push_back({"fcTL", control()});
  }
  const std::string rows = raw_rows(kind, width, height, interlaced, random);
  const std::string pixels = deflated(rows, random.integer(0, 1) == 0 ? 6 : 0);
  for (std::size_t at = 0; at < pixels.size();) {
    const auto piece = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(pixels.size())));
    png.chunks.push_back({"IDAT", pixels.substr(at, piece)});
    at += piece;
  }
  if (animated) {
    png.chunks.push_back({"fcTL", control()});
    png.chunks.push_back({"fdAT", be32(frame++) + pixels});
  }
  sometimes("tIME", random_bytes(random, 7));
  sometimes("tEXt", "Author" + std::string(1, '\0') + "nobody");
  png.chunks.push_back({"IEND", ""});
  return png;
}

}  // namespace ridgeline::image::test
