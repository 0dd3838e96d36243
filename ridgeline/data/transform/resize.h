// ridgeline/data/transform/resize.h
//
// Transforms that end in a resampling of pixels: Pillow's, or one of those named in image/resample/filter.h.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/data/ir/graph.h"
#include "ridgeline/data/transform/options.h"

namespace ridgeline::data {

struct TransformEntry;  // ir/registry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
struct RandomResizedCropOptions {
  std::array<double, 2> scale{0.08, 1.0};         // share of the area
  std::array<double, 2> ratio{3.0 / 4, 4.0 / 3};  // width over height
  std::string interpolation = "bilinear";
  // If a record has bounding boxes, a crop must contain this share of at least one of them. 0 ignores boxes.
  double min_object_covered = 0.1;
};
// A random crop, resized to `size`: torchvision's rule for the crop, Pillow's resampling.
Transform RandomResizedCrop(Size size, RandomResizedCropOptions options = {});

struct ResizeOptions {
  std::string interpolation = "bilinear";  // a name of image/resample/filter.h
  std::string size_rule = "torchvision";   // or "mindata": how the longer side is rounded
};
// One number: the shorter side becomes that long and the ratio is kept; two: exactly height and width.
Transform Resize(Size size, ResizeOptions options = {});
// NOLINTEND(readability-identifier-naming)

// Their entries in the table.
std::vector<TransformEntry> resize_transforms();

}  // namespace ridgeline::data
