// ridgeline/data/api/transforms.h
//
// Transforms for Dataset::map. Each function only describes: it returns an entry for the graph. Decoding of an
// encoded image column needs no transform of its own, it happens where the first pixels are needed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

// One number means a square (or, for Resize, the shorter side); two mean height and width.
struct Size {
  std::vector<std::int64_t> values;
  Size(std::int64_t side) : values{side} {}  // NOLINT(google-explicit-constructor): Resize(256) should read so
  Size(std::int64_t height, std::int64_t width) : values{height, width} {}
};

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
  std::string interpolation = "bilinear";
};
// One number: the shorter side becomes that long and the ratio is kept; two: exactly height and width.
Transform Resize(Size size, ResizeOptions options = {});
// The middle of the image, padded with zeros where the image is smaller.
Transform CenterCrop(Size size);
// A random window after adding `padding` zero pixels on all sides.
Transform RandomCropWithPadding(Size size, std::int64_t padding);
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
