#include "ridgeline/image/png/rows.h"

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

}  // namespace

int png_pixel_bits(const PngHeader& header) { return header.depth * samples_of(header.type); }

std::size_t png_row_bytes(const PngHeader& header, std::uint32_t width) {
  return (static_cast<std::size_t>(width) * static_cast<std::size_t>(png_pixel_bits(header)) + 7) / 8;
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
