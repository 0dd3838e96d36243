// ridgeline/image/pixels.h
//
// Moving pixels without changing them. Pure functions: any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ridgeline/image/image.h"

namespace ridgeline::image {

// An Error for a box that is not.
void check_inside(const Box& box, Size image);
// A view of the box; it must be inside the image.
ImageView crop(const ImageView& image, Box box);
Image copy(const ImageView& image);
// One row of RGB pixels, the last one first; `out` must not overlap the input.
void mirror_rgb(const std::uint8_t* in, std::size_t pixels, std::uint8_t* out);
// Mirrored top to bottom; `out` has the input's size without gaps and must not overlap it.
void flip_vertical(const ImageView& in, std::uint8_t* out);

}  // namespace ridgeline::image
