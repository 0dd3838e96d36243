// ridgeline/data/api/colour_transforms.h
//
// Transforms that change colours, blur and erase; see transforms.h. All take u8 pixels of 1 or 3 channels,
// RandomErasing also f32 (after Normalize).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "ridgeline/data/api/transform_options.h"
#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.

// A number x: factors from max(0, 1 - x) to 1 + x (hue: -x to x of the circle, at most 0.5); a range: from it.
struct ColorJitterOptions {
  Range brightness = {}, contrast = {}, saturation = {}, hue = {};
};
Transform ColorJitter(ColorJitterOptions options);
// MindData's name for it.
Transform RandomColorAdjust(ColorJitterOptions options);

// By a fixed factor: 0 the poorer version (black, mean grey, without colour, smoothed), 1 the image, more: beyond it.
Transform AdjustBrightness(double factor);
Transform AdjustContrast(double factor);
Transform AdjustSaturation(double factor);
Transform AdjustSharpness(double factor);
Transform AdjustHue(double factor);  // share of the circle, -0.5 to 0.5
// By a random factor: ColorJitter with one step.
Transform RandomBrightness(Range brightness);
Transform RandomContrast(Range contrast);
Transform RandomSaturation(Range saturation);
Transform RandomHue(Range hue);
// By a fixed factor or one from a range, with probability p: torchvision's RandomAdjustSharpness.
Transform RandomSharpness(Range factor, double p = 0.5);

Transform Grayscale(std::int64_t channels = 1);
Transform RandomGrayscale(double p = 0.1);
Transform Invert();
Transform RandomInvert(double p = 0.5);
Transform Posterize(std::int64_t bits);
Transform RandomPosterize(std::int64_t bits, double p = 0.5);
Transform Solarize(double threshold);
Transform RandomSolarize(double threshold, double p = 0.5);
Transform AutoContrast();
Transform RandomAutoContrast(double p = 0.5);
Transform Equalize();
Transform RandomEqualize(double p = 0.5);

struct GaussianBlurOptions {
  Range sigma = {0.1, 2.0};  // pixels; one number: always that
};
// Odd sides of the window.
Transform GaussianBlur(Size kernel_size, GaussianBlurOptions options = {});

struct RandomErasingOptions {
  double p = 0.5;
  std::array<double, 2> scale{0.02, 0.33};  // share of the area
  std::array<double, 2> ratio{0.3, 3.3};    // height over width
  std::vector<double> value{0};             // one or three
  bool noise = false;                       // instead of the value: torchvision's value="random"
};
Transform RandomErasing(RandomErasingOptions options = {});

struct CutOutOptions {
  std::int64_t num_patches = 1;
  std::string law = "centre";  // or "mindata": where squares may lie (image/erase.h)
  Fill fill = {};
};
// Squares of `length` pixels.
Transform CutOut(std::int64_t length, CutOutOptions options = {});
// NOLINTEND(readability-identifier-naming)

}  // namespace ridgeline::data
