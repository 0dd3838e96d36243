// ridgeline/image/augment/rotate.h
//
// Rotation by Pillow's Image.rotate. Angles in degrees, counterclockwise. Pure functions: any thread.
#pragma once

#include <optional>

#include "ridgeline/image/augment/warp.h"

namespace ridgeline::image {

// What a rotation will do: the size of its result and, unless it only moves whole pixels, the matrix.
struct Rotation {
  enum class Kind { copy, quarter, half, three_quarters, warp };
  Kind kind = Kind::warp;
  Size size;
  AffineMatrix matrix;
};

// With `expand` the result is as large as the rotated image needs. If no centre is given, 0 and 180 degrees (90 and 270
// when expanding or square) move pixels exactly, whatever the sampling. An Error for numbers that are not finite.
struct Centre {
  double x = 0, y = 0;
};
Rotation plan_rotation(Size image, double angle, bool expand = false, std::optional<Centre> centre = std::nullopt);

// `out`: rotation.size pixels; must not overlap the source.
void rotate(const ImageView& in, const Rotation& rotation, Sampling sampling, Colour fill, std::uint8_t* out);
// Rotates about the middle, into the input's size.
void rotate(const ImageView& in, double angle, Sampling sampling, Colour fill, std::uint8_t* out);

}  // namespace ridgeline::image
