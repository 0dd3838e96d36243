// ridgeline/image/augment/colour_rows.h
//
// Rows of the colour operations, vectorised: the arithmetic of Pillow value by value, so that all instruction sets give
// the same bits. `out` may be `in` unless said otherwise. Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ridgeline::image {

// Pillow's ImagingBlend of one constant with n values: poor + factor * (value - poor), cut to 0..255, fraction dropped.
void blend_row(int poor, float factor, const std::uint8_t* in, std::size_t n, std::uint8_t* out);
// The same, blending each RGB pixel's luma with its three values.
void blend_with_luma_row(float factor, const std::uint8_t* in, std::size_t pixels, std::uint8_t* out);
// Sum of the lumas of RGB pixels.
std::uint64_t luma_sum(const std::uint8_t* in, std::size_t pixels);
// Pillow's SMOOTH filter (each value five times, its eight neighbours once, a 13th of that, rounded) blended with the n
// values themselves. Neighbours are `step` values away and in the rows above and below. `out` must not be an input.
void sharpen_row(float factor, const std::uint8_t* above, const std::uint8_t* row, const std::uint8_t* below,
                 std::size_t step, std::size_t n, std::uint8_t* out);
// RGB to HSV and back (Pillow's rgb2hsv and hsv2rgb), `shift` of 256 added to the hue in between.
void shift_hue_row(int shift, const std::uint8_t* in, std::size_t pixels, std::uint8_t* out);

}  // namespace ridgeline::image
