// ridgeline/data/transform/random_size.h
//
// Resizes to a random size, keeping the ratio: torchvision's rules.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

struct TransformEntry;  // ir/registry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
// The shorter side becomes one of `min_size`, drawn uniformly, or less if the longer one would exceed `max_size` (0: no
// limit).
Transform RandomShortestSize(std::vector<std::int64_t> min_size, std::int64_t max_size = 0,
                             std::string interpolation = "bilinear");
// The shorter side becomes at least `min_size` and less than `max_size`.
Transform RandomResize(std::int64_t min_size, std::int64_t max_size, std::string interpolation = "bilinear");

struct ScaleJitterOptions {
  std::array<double, 2> scale_range{0.1, 2};
  std::string interpolation = "bilinear";
};
// The largest size that fits into `target_size` [width, height], times a random factor (large scale jitter).
Transform ScaleJitter(std::array<std::int64_t, 2> target_size, ScaleJitterOptions options = {});
// NOLINTEND(readability-identifier-naming)

// Their entries in the table.
std::vector<TransformEntry> random_size_transforms();

}  // namespace ridgeline::data
