// ridgeline/image/augment/tone.h
//
// Operations that look a value up in a table of its channel: invert, posterize, solarize, autocontrast, equalize, with
// the bits of Pillow's ImageOps. Pure functions: any thread.
//
// All: 1 or 3 channels; `out` has the input's size without gaps between rows, and may be the input itself.
#pragma once

#include "ridgeline/image/image.h"

namespace ridgeline::image {

void invert(const ImageView& in, std::uint8_t* out);
// Keeps the upper `bits` bits, 0 to 8.
void posterize(const ImageView& in, int bits, std::uint8_t* out);
// Inverts values of `threshold` and more.
void solarize(const ImageView& in, double threshold, std::uint8_t* out);
// min(255, v + addition) where v < threshold (TensorFlow's and timm's policies). addition: 0 to 255.
void solarize_add(const ImageView& in, int addition, double threshold, std::uint8_t* out);
// Stretches each channel to 0..255; one with a single value stays.
void autocontrast(const ImageView& in, std::uint8_t* out);
// Spreads each channel's histogram evenly; one with a single value stays.
void equalize(const ImageView& in, std::uint8_t* out);

}  // namespace ridgeline::image
