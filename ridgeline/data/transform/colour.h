// ridgeline/data/transform/colour.h
//
// Changes colours by a fixed rule, always or with a probability. Each takes u8 pixels of 1 or 3 channels.
#pragma once

#include <cstdint>
#include <vector>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

struct TransformEntry;  // ir/registry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
// By a fixed factor: 0 gives the poorer version (black, mean grey, without colour, smoothed), 1 the image, more goes
// beyond it.
Transform AdjustBrightness(double factor);
Transform AdjustContrast(double factor);
Transform AdjustSaturation(double factor);
Transform AdjustSharpness(double factor);
Transform AdjustHue(double factor);  // fraction of the colour circle, -0.5 to 0.5

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
// NOLINTEND(readability-identifier-naming)

// Their entries in the table.
std::vector<TransformEntry> colour_transforms();

}  // namespace ridgeline::data
