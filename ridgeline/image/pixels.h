// ridgeline/image/pixels.h
//
// Moving pixels without changing them. Pure functions: any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ridgeline/image/image.h"

namespace ridgeline::image {

// A view of a part; `box` must lie inside.
ImageView crop(const ImageView& image, Box box);
Image copy(const ImageView& image);
// One row of RGB pixels, the last one first; `out` lies elsewhere.
void mirror_rgb(const std::uint8_t* in, std::size_t pixels, std::uint8_t* out);
// Mirrored left to right, in place.
void flip_horizontal(std::uint8_t* data, int height, int width, int channels, std::ptrdiff_t stride);
Image flipped_horizontal(const ImageView& image);
// Mirrored top to bottom; `out` has the input's size without gaps and may be the input itself.
void flip_vertical(const ImageView& in, std::uint8_t* out);
// With a border of `value`.
Image pad(const ImageView& image, int top, int left, int bottom, int right, std::uint8_t value = 0);

}  // namespace ridgeline::image
