// ridgeline/image/pixel_rows.h
//
// What the pixel operations share: the check of their input, and the iteration over rows into an output without gaps.
// Private to this folder.
#pragma once

#include <cmath>
#include <cstring>
#include <string>

#include "ridgeline/core/error.h"
#include "ridgeline/image/image.h"

namespace ridgeline::image {

inline std::size_t row_bytes(const ImageView& image) {
  return static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.channels);
}

// An Error unless the image has pixels, and grey or RGB ones.
inline void check_pixels(const char* op, const ImageView& in) {
  if (in.height < 1 || in.width < 1) {
    throw Error(std::string("[") + op + "] an image of " + std::to_string(in.height) + "x" + std::to_string(in.width) +
                " has no pixels");
  }
  if (in.channels != 1 && in.channels != 3) {
    throw Error(std::string("[") + op + "] needs 1 or 3 channels, not " + std::to_string(in.channels));
  }
}

inline void check_finite(const char* op, const char* what, double value) {
  if (!std::isfinite(value)) throw Error(std::string("[") + op + "] " + what + " must be finite");
}

inline void copy_pixels(const ImageView& in, std::uint8_t* out) {
  const std::size_t bytes = row_bytes(in);
  for (int y = 0; y < in.height; ++y, out += bytes) {
    if (out != in.row(y)) std::memcpy(out, in.row(y), bytes);
  }
}

// ITU-R 601 luma as Pillow's convert("L"): 16-bit fixed point, rounded.
inline int luma(const std::uint8_t* rgb) {
  return static_cast<int>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

}  // namespace ridgeline::image
