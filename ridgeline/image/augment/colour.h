// ridgeline/image/augment/colour.h
//
// Luma and hue, with the bits of Pillow's conversions (torchvision's path for PIL images). Pure functions: any thread.
#pragma once

#include "ridgeline/image/image.h"

namespace ridgeline::image {

// Pillow's convert("L"): (19595 R + 38470 G + 7471 B + 2^15) >> 16, repeated over `out_channels` (1 or 3). `out` has
// height * width * out_channels bytes; in place when the number of channels stays.
void grayscale(const ImageView& in, int out_channels, std::uint8_t* out);

// Turns the hue by `factor` of the circle, from -0.5 to 0.5: to Pillow's 8-bit HSV, int(factor * 255) added modulo 256,
// and back. Even factor 0 converts to HSV and back, which loses a little, as in torchvision. Grey images stay. May run
// in place; an Error for another factor.
void adjust_hue(const ImageView& in, double factor, std::uint8_t* out);

}  // namespace ridgeline::image
