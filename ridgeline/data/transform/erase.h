// ridgeline/data/transform/erase.h
//
// Fills rectangles at random places. RandomErasing also takes f32 (after Normalize).
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
  std::string law = "centre";  // or "mindata": where squares may be (image/augment/erase.h)
  Fill fill = {};
};
// Squares with sides of `length` pixels.
Transform CutOut(std::int64_t length, CutOutOptions options = {});
// NOLINTEND(readability-identifier-naming)

// Their entries in the table.
std::vector<TransformEntry> erase_transforms();

}  // namespace ridgeline::data
