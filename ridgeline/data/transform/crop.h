// ridgeline/data/transform/crop.h
//
// Windows of an image and borders around it, without resampling. Boxes of the image follow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/data/ir/graph.h"
#include "ridgeline/data/transform/options.h"

namespace ridgeline::data {

struct TransformEntry;  // ir/registry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
// The middle of the image, padded with zeros if the image is smaller.
Transform CenterCrop(Size size);
// A random window after adding `padding` zero pixels on all sides.
Transform RandomCropWithPadding(Size size, std::int64_t padding);
struct RandomCropOptions {
  std::int64_t padding = 0;    // on all sides
  bool pad_if_needed = false;  // pads a side that is too short, on both ends
  Fill fill = {};
};
Transform RandomCrop(Size size, RandomCropOptions options = {});
struct CropOptions {
  Fill fill = {};
};
// The window of `size` at row `top` and column `left`; it may reach beyond the image.
Transform Crop(std::int64_t top, std::int64_t left, Size size, CropOptions options = {});
struct PadOptions {
  std::string padding_mode = "constant";  // or edge, reflect, symmetric
  Fill fill = {};
};
// {all sides}, {left and right, top and bottom} or {left, top, right, bottom}.
Transform Pad(std::vector<std::int64_t> padding, PadOptions options = {});
// NOLINTEND(readability-identifier-naming)

// Their entries in the table.
std::vector<TransformEntry> crop_transforms();

}  // namespace ridgeline::data
