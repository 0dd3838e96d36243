// ridgeline/image/augment/blur.h
//
// Gaussian blur by torchvision's gaussian_blur: a window of whole pixels, weights exp(-x^2 / (2 sigma^2)) normalised,
// the image mirrored about its last pixels. Pure functions: any thread.
#pragma once

#include "ridgeline/image/image.h"

namespace ridgeline::image {

// Sides of the window (odd) and the deviation each way, in pixels.
struct BlurRule {
  int kernel_height = 3, kernel_width = 3;
  double sigma_y = 0.8, sigma_x = 0.8;
};

// torchvision's rule with its default deviation, 0.15 * kernel + 0.35.
BlurRule blur_rule(int kernel);
// An Error for a side that is even, not positive or above 1023, or a deviation that is not positive.
void check_blur_rule(const BlurRule& rule);

// Across, then down, in float; rounded once, half to even. torchvision sums over the square window at once: where its
// sum is on the other side of a half, the results differ by 1. Unlike in torchvision, the window may be larger than the
// image, which is then mirrored repeatedly. 1 or 3 channels; `out` has the input's size without gaps and may be the
// input itself.
void gaussian_blur(const ImageView& in, const BlurRule& rule, std::uint8_t* out);

}  // namespace ridgeline::image
