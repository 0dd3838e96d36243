// ridgeline/image/augment/enhance.h
//
// Brightness, contrast, saturation and sharpness: a blend of the image with a poorer version of itself, by the rule of
// Pillow's ImageEnhance (torchvision's adjust_* on PIL images), with its bits. Factor 0 gives the poorer version, 1 the
// image, more than 1 goes beyond it. Pure functions: any thread.
//
// All: 1 or 3 channels; `out` has the input's size without gaps between rows; an Error for a factor that is not finite.
// out = clip(poor + factor * (image - poor)) in float, fraction dropped.
#pragma once

#include "ridgeline/image/image.h"

namespace ridgeline::image {

// Blends with black. May run in place.
void adjust_brightness(const ImageView& in, double factor, std::uint8_t* out);
// Blends with a plain grey: the mean of the image's luma, rounded half up. May run in place.
void adjust_contrast(const ImageView& in, double factor, std::uint8_t* out);
// Blends with the image's own luma (Pillow's Color). A grey image stays. May run in place.
void adjust_saturation(const ImageView& in, double factor, std::uint8_t* out);
// Blends with the image smoothed by 3x3 weights of 1 around 5, over 13. The border of one pixel stays, and so does an
// image with a side below 3. Not in place.
void adjust_sharpness(const ImageView& in, double factor, std::uint8_t* out);

}  // namespace ridgeline::image
