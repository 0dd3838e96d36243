// ridgeline/data/transform/random_size.h
//
// Resizing to a random size, ratio kept: torchvision's rules.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

struct TransformEntry;  // ir/registry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
// The shorter side becomes one of `min_size`, drawn alike, or less where the longer one would pass `max_size` (0: no
// limit).
Transform RandomShortestSize(std::vector<std::int64_t> min_size, std::int64_t max_size = 0,
                             std::string interpolation = "bilinear");
// The shorter side becomes `min_size` at least and less than `max_size`.
Transform RandomResize(std::int64_t min_size, std::int64_t max_size, std::string interpolation = "bilinear");

struct ScaleJitterOptions {
  std::array<double, 2> scale_range{0.1, 2};
  std::string interpolation = "bilinear";
};
// As large as fits into `target_size` [width, height], times a random factor (large scale jitter).
Transform ScaleJitter(std::array<std::int64_t, 2> target_size, ScaleJitterOptions options = {});
// NOLINTEND(readability-identifier-naming)

// Their entries in the table.
std::vector<TransformEntry> random_size_transforms();

}  // namespace ridgeline::data
