// ridgeline/data/transform/jitter.h
//
// Changes colours, sharpness and blur by a random strength. Each takes u8 pixels of 1 or 3 channels.
#pragma once

#include <vector>

#include "ridgeline/data/ir/graph.h"
#include "ridgeline/data/transform/options.h"

namespace ridgeline::data {

struct TransformEntry;  // ir/registry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
// A number x: factors from max(0, 1 - x) to 1 + x (hue: -x to x of the circle, at most 0.5); a range: factors from it.
struct ColorJitterOptions {
  Range brightness = {}, contrast = {}, saturation = {}, hue = {};
};
Transform ColorJitter(ColorJitterOptions options);
// MindData's name for it.
Transform RandomColorAdjust(ColorJitterOptions options);

// By a random factor: ColorJitter with one step.
Transform RandomBrightness(Range brightness);
Transform RandomContrast(Range contrast);
Transform RandomSaturation(Range saturation);
Transform RandomHue(Range hue);
// By a fixed factor or one from a range, with probability p: torchvision's RandomAdjustSharpness.
Transform RandomSharpness(Range factor, double p = 0.5);

struct GaussianBlurOptions {
  Range sigma = {0.1, 2.0};  // pixels; one number: not drawn
};
// Odd sides of the window.
Transform GaussianBlur(Size kernel_size, GaussianBlurOptions options = {});
// NOLINTEND(readability-identifier-naming)

// Their entries in the table.
std::vector<TransformEntry> jitter_transforms();

}  // namespace ridgeline::data
