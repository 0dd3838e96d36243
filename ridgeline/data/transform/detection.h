// ridgeline/data/transform/detection.h
//
// Crops and margins of detectors: SSD's, by torchvision's rules. Boxes of the image follow.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ridgeline/data/ir/graph.h"
#include "ridgeline/data/transform/options.h"

namespace ridgeline::data {

struct TransformEntry;  // ir/registry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
struct RandomZoomOutOptions {
  std::array<double, 2> side_range{1, 4};  // smallest and largest factor of both sides
  double p = 0.5;
  Fill fill = {};
};
// Places the image at random on a larger background.
Transform RandomZoomOut(RandomZoomOutOptions options = {});

struct RandomIoUCropOptions {
  double min_scale = 0.3, max_scale = 1;                // share of each side
  double min_aspect_ratio = 0.5, max_aspect_ratio = 2;  // width over height
  // One of them is drawn: the smallest overlap (intersection over union) that the crop must have with a box whose
  // middle it contains; 1 or more leaves the image as it is.
  std::vector<double> options{0, 0.1, 0.3, 0.5, 0.7, 0.9, 1};
  std::int64_t trials = 40;  // for an option, before another one is drawn
};
// A crop that contains the middle of a box. Boxes (f32 [?,4]) whose middle is outside are dropped with their
// box_labels, the others are clipped to the crop.
Transform RandomIoUCrop(RandomIoUCropOptions options = {});
// NOLINTEND(readability-identifier-naming)

// Their entries in the table.
std::vector<TransformEntry> detection_transforms();

}  // namespace ridgeline::data
