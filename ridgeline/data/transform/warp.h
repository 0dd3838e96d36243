// ridgeline/data/transform/warp.h
//
// Transforms that rotate, shear and distort. Boxes of the image become the smallest upright boxes around the warped
// ones.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/data/ir/graph.h"
#include "ridgeline/data/transform/options.h"

namespace ridgeline::data {

struct TransformEntry;  // ir/registry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
struct RotationOptions {
  std::string interpolation = "nearest";             // or bilinear, bicubic
  bool expand = false;                               // a result as large as the rotated image needs
  std::optional<std::array<double, 2>> center = {};  // x, y in pixels; absent: the middle
  Fill fill = {};
};
// Rotates by `angle` degrees, counterclockwise.
Transform Rotate(double angle, const RotationOptions& options = {});
// From -most to most, or from least to most degrees.
Transform RandomRotation(Range degrees, const RotationOptions& options = {});

struct AffineOptions {
  double angle = 0;                       // degrees, clockwise
  std::array<double, 2> translate{0, 0};  // x, y in pixels
  double scale = 1;
  std::array<double, 2> shear{0, 0};  // x, y in degrees
  std::string interpolation = "nearest";
  std::optional<std::array<double, 2>> center = {};
  Fill fill = {};
};
Transform Affine(AffineOptions options);

struct RandomAffineOptions {
  std::optional<std::array<double, 2>> translate = {};  // largest, as a share of width and height
  std::optional<std::array<double, 2>> scale = {};      // smallest and largest
  // Degrees: one number x for -x to x, two for the range across, four for the ranges across and down.
  std::vector<double> shear = {};
  std::string interpolation = "nearest";
  std::optional<std::array<double, 2>> center = {};
  Fill fill = {};
};
Transform RandomAffine(Range degrees, RandomAffineOptions options = {});

struct RandomPerspectiveOptions {
  double distortion_scale = 0.5;
  double p = 0.5;
  std::string interpolation = "bilinear";
  Fill fill = {};
};
Transform RandomPerspective(RandomPerspectiveOptions options = {});
// NOLINTEND(readability-identifier-naming)

// Their entries in the table.
std::vector<TransformEntry> warp_transforms();

}  // namespace ridgeline::data
