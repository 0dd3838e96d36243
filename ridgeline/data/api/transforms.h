// ridgeline/data/api/transforms.h
//
// Transforms for Dataset::map. Each function only describes: it returns an entry for the graph. Decoding of an
// encoded image column needs no transform of its own, it happens where the first pixels are needed.
//
// Here: crops, sizes and values. geometry_transforms.h turns, warps and pads, colour_transforms.h changes colours and
// erases, policy_transforms.h augments automatically and mixes batches, nested_transforms.h makes transforms of others.
// Names, arguments and defaults are torchvision's unless said otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/data/api/colour_transforms.h"
#include "ridgeline/data/api/geometry_transforms.h"
#include "ridgeline/data/api/nested_transforms.h"
#include "ridgeline/data/api/policy_transforms.h"
#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
struct RandomResizedCropOptions {
  std::array<double, 2> scale{0.08, 1.0};         // share of the area
  std::array<double, 2> ratio{3.0 / 4, 4.0 / 3};  // width over height
  std::string interpolation = "bilinear";
  // Where a record has bounding boxes, a crop must contain this share of at least one of them. 0 ignores boxes.
  double min_object_covered = 0.1;
};
// A random part of the image, resized to `size`: torchvision's law of the crop, Pillow's resampling.
Transform RandomResizedCrop(Size size, RandomResizedCropOptions options = {});

struct ResizeOptions {
  std::string interpolation = "bilinear";  // a name of image/filter.h
  std::string size_rule = "torchvision";   // or "mindata": how the longer side is rounded
};
// One number: the shorter side becomes that long and the ratio is kept; two: exactly height and width.
Transform Resize(Size size, ResizeOptions options = {});
// The middle of the image, padded with zeros where the image is smaller.
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
Transform RandomHorizontalFlip(double p = 0.5);
// u8 to f32: (v/255 - mean) / std per channel, by a table of 256 entries (image/).
Transform NormalizeWith(std::vector<double> mean, std::vector<double> std);

// Another element type. Values that do not fit are an Error.
Transform TypeCast(DType dtype);
// To f32: x * scale + shift.
Transform Rescale(double scale, double shift = 0);
// [height, width, channels] to [channels, height, width].
Transform HWC2CHW();
// A class to f32 [classes]: 1 - smoothing at the class, and smoothing spread over all.
Transform OneHot(std::int64_t classes, double smoothing = 0);

struct FunctionOptions {
  std::optional<DType> dtype = {};                      // of the result; absent: unchanged
  std::optional<std::vector<std::int64_t>> shape = {};  // of the result, -1 for an extent that varies
};
// A function of the user's own, by the name that register_function (ir/functions.h) got.
Transform Function(const std::string& name, FunctionOptions options = {});

// NOLINTEND(readability-identifier-naming)

// Normalize(mean, std), or Normalize::imagenet() for the usual means and deviations.
struct Normalize {
  Transform transform;
  Normalize(std::vector<double> mean, std::vector<double> std)
      : transform(NormalizeWith(std::move(mean), std::move(std))) {}
  static Normalize imagenet() { return {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}}; }
  operator Transform() const { return transform; }  // NOLINT(google-explicit-constructor)
};

}  // namespace ridgeline::data
