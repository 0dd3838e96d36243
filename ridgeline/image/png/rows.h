// ridgeline/image/png/rows.h
//
// Rows of PNG pixels, their predictions undone (predictions.h): samples of every depth become RGB or numbers (PNG
// specification, 3rd edition, sections 7 and 13). Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ridgeline/image/png/chunks.h"

namespace ridgeline::image {

// Bits of a pixel, and bytes of a row of `width` of them.
int png_pixel_bits(const PngHeader& header);
std::size_t png_row_bytes(const PngHeader& header, std::uint32_t width);

// `width` pixels of a row to RGB, `step` pixels apart.
class PngUnpacker {
 public:
  explicit PngUnpacker(const PngHeader& header);
  void unpack(const std::uint8_t* row, std::uint32_t width, std::uint8_t* rgb, int step = 1) const;
  // The colour of pixels that the file lacks: index 0.
  const std::uint8_t* missing() const { return colours_; }

 private:
  PngHeader header_;
  std::uint8_t colours_[3 * 256];  // the colour of each sample, if samples have at most 8 bits and there is one a pixel
};

// `width` pixels of one sample each to numbers, `step` numbers apart: bytes, or 16 bits where the file has them.
void unpack_png_values(const PngHeader& header, const std::uint8_t* row, std::uint32_t width, std::uint8_t* values,
                       int step);

}  // namespace ridgeline::image
