#include "ridgeline/image/png/rows.h"

#include <algorithm>
#include <cstring>

namespace ridgeline::image {
namespace {

constexpr int kPalette = 3;

int samples_of(int type) {
  switch (type) {
    case 2: return 3;
    case 4: return 2;
    case 6: return 4;
    default: return 1;
  }
}

// A sample of at most 8 bits.
int sample_at(const std::uint8_t* row, std::uint32_t x, int depth) {
  const std::size_t bit = static_cast<std::size_t>(x) * static_cast<std::size_t>(depth);
  return (row[bit / 8] >> (8 - depth - static_cast<int>(bit % 8))) & ((1 << depth) - 1);
}

// A pixel's bytes, computed in parallel.
using Lanes = std::int16_t __attribute__((vector_size(16)));
using ByteLanes = std::uint8_t __attribute__((vector_size(8)));

template <class T>
std::uint64_t word(const std::uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// N bytes in a register. Pieces of full words: bytes that are combined in memory cannot be read as one word until the
// processor has written them, which costs more than all of the arithmetic.
template <int N>
std::uint64_t bytes_at(const std::uint8_t* p) {
  if constexpr (N == 1) return *p;
  if constexpr (N == 2) return word<std::uint16_t>(p);
  if constexpr (N == 3) return word<std::uint16_t>(p) | std::uint64_t{p[2]} << 16;
  if constexpr (N == 4) return word<std::uint32_t>(p);
  if constexpr (N == 6) return word<std::uint32_t>(p) | word<std::uint16_t>(p + 4) << 32;
  if constexpr (N == 8) return word<std::uint64_t>(p);
}

template <int N>
Lanes load(const std::uint8_t* p) {
  const std::uint64_t value = bytes_at<N>(p);
  ByteLanes bytes;
  std::memcpy(&bytes, &value, sizeof bytes);
  return __builtin_convertvector(bytes, Lanes);
}

// Stores the values modulo 256, as in PNG, and returns them.
template <int N>
Lanes store(Lanes value, std::uint8_t* p) {
  value &= 255;
  const ByteLanes bytes = __builtin_convertvector(value, ByteLanes);
  std::uint64_t whole;
  std::memcpy(&whole, &bytes, sizeof whole);
  constexpr int kFirst = N >= 8 ? 8 : N >= 4 ? 4 : N >= 2 ? 2 : 1;
  std::memcpy(p, &whole, kFirst);
  if constexpr (N > kFirst) {
    whole >>= 8 * kFirst;
    std::memcpy(p + kFirst, &whole, N - kFirst);
  }
  return value;
}

Lanes magnitude(Lanes v) {
  const Lanes sign = v >> 15;
  return (v ^ sign) - sign;
}

template <int N>
void undo_sub(std::uint8_t* row, std::size_t bytes) {
  Lanes left{};
  for (std::size_t i = 0; i < bytes; i += N) left = store<N>(load<N>(row + i) + left, row + i);
}

template <int N>
void undo_average(std::uint8_t* row, const std::uint8_t* above, std::size_t bytes) {
  Lanes left{};
  for (std::size_t i = 0; i < bytes; i += N)
    left = store<N>(load<N>(row + i) + ((left + load<N>(above + i)) >> 1), row + i);
}

template <int N>
void undo_paeth(std::uint8_t* row, const std::uint8_t* above, std::size_t bytes) {
  Lanes left{}, corner{};
  for (std::size_t i = 0; i < bytes; i += N) {
    const Lanes up = load<N>(above + i);
    const Lanes to_up = left - corner, to_left = up - corner;  // distances of the estimate left + up - corner
    const Lanes far_left = magnitude(to_left), far_up = magnitude(to_up), far_corner = magnitude(to_left + to_up);
    const Lanes up_or_corner = far_up <= far_corner ? up : corner;
    const Lanes predicted = (far_left <= far_up) & (far_left <= far_corner) ? left : up_or_corner;
    left = store<N>(load<N>(row + i) + predicted, row + i);
    corner = up;
  }
}

void undo_up(std::uint8_t* row, const std::uint8_t* above, std::size_t bytes) {
  std::size_t i = 0;
  for (; i + sizeof(ByteLanes) <= bytes; i += sizeof(ByteLanes)) {
    ByteLanes a, b;
    std::memcpy(&a, row + i, sizeof a);
    std::memcpy(&b, above + i, sizeof b);
    a += b;
    std::memcpy(row + i, &a, sizeof a);
  }
  for (; i < bytes; ++i) row[i] = static_cast<std::uint8_t>(row[i] + above[i]);
}

template <int N>
bool undo(int filter, std::uint8_t* row, const std::uint8_t* above, std::size_t bytes) {
  switch (filter) {
    case 0: return true;
    case 1: undo_sub<N>(row, bytes); return true;
    case 2: undo_up(row, above, bytes); return true;
    case 3: undo_average<N>(row, above, bytes); return true;
    case 4: undo_paeth<N>(row, above, bytes); return true;
    default: return false;
  }
}

}  // namespace

int png_pixel_bits(const PngHeader& header) { return header.depth * samples_of(header.type); }

std::size_t png_row_bytes(const PngHeader& header, std::uint32_t width) {
  return (static_cast<std::size_t>(width) * static_cast<std::size_t>(png_pixel_bits(header)) + 7) / 8;
}

bool undo_png_filter(int filter, std::span<std::uint8_t> row, std::span<const std::uint8_t> before, int pixel_bytes) {
  std::uint8_t* out = row.data();
  const std::uint8_t* above = before.data();
  switch (pixel_bytes) {
    case 1: return undo<1>(filter, out, above, row.size());
    case 2: return undo<2>(filter, out, above, row.size());
    case 3: return undo<3>(filter, out, above, row.size());
    case 4: return undo<4>(filter, out, above, row.size());
    case 6: return undo<6>(filter, out, above, row.size());
    default: return undo<8>(filter, out, above, row.size());
  }
}

PngUnpacker::PngUnpacker(const PngHeader& header) : header_(header) {
  const int most = header.depth >= 8 ? 255 : (1 << header.depth) - 1;
  for (int v = 0; v < 256; ++v)
    std::memset(colours_ + static_cast<std::ptrdiff_t>(3) * v, v <= most ? v * (255 / most) : 0, 3);
  if (header.type != kPalette) return;
  std::memset(colours_, 0, sizeof colours_);  // of colours that the palette lacks, as in Pillow
  if (!header.palette.empty()) std::memcpy(colours_, header.palette.data(), header.palette.size() / 3 * 3);
}

void PngUnpacker::unpack(const std::uint8_t* row, std::uint32_t width, std::uint8_t* rgb, int step) const {
  const std::ptrdiff_t apart = static_cast<std::ptrdiff_t>(3) * step;
  const bool wide = header_.depth == 16;
  if (samples_of(header_.type) == 1 && !wide) {
    for (std::uint32_t x = 0; x < width; ++x, rgb += apart)
      std::memcpy(rgb, colours_ + static_cast<std::ptrdiff_t>(3) * sample_at(row, x, header_.depth), 3);
    return;
  }
  if (header_.type == 2 && !wide && step == 1) {
    std::memcpy(rgb, row, static_cast<std::size_t>(width) * 3);
    return;
  }
  const std::ptrdiff_t pixel = png_pixel_bits(header_) / 8, sample = wide ? 2 : 1;
  for (std::uint32_t x = 0; x < width; ++x, row += pixel, rgb += apart) {
    if (header_.type == 0 || header_.type == 4) {
      std::memset(rgb, row[0], 3);
    } else {
      for (std::ptrdiff_t c = 0; c < 3; ++c) rgb[c] = row[c * sample];
    }
  }
}

void unpack_png_values(const PngHeader& header, const std::uint8_t* row, std::uint32_t width, std::uint8_t* values,
                       int step) {
  if (header.depth == 8 && step == 1) {
    std::memcpy(values, row, width);
    return;
  }
  for (std::uint32_t x = 0; x < width; ++x) {
    const std::ptrdiff_t to = static_cast<std::ptrdiff_t>(x) * step;
    if (header.depth == 16) {
      const auto value = static_cast<std::uint16_t>(row[2 * std::size_t{x}] << 8 | row[2 * std::size_t{x} + 1]);
      std::memcpy(values + 2 * to, &value, sizeof value);
    } else {
      values[to] = static_cast<std::uint8_t>(sample_at(row, x, header.depth));
    }
  }
}

}  // namespace ridgeline::image
