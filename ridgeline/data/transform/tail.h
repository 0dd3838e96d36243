// ridgeline/data/transform/tail.h
//
// What most pipelines end with: flip, normalize and channels first, each alone or all in one pass over the pixels.
#pragma once

#include <utility>
#include <vector>

#include "ridgeline/data/ir/graph.h"
#include "ridgeline/image/normalize.h"

namespace ridgeline::data {

struct TransformEntry;  // ir/registry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
Transform RandomHorizontalFlip(double p = 0.5);
// u8 to f32: (v/255 - mean) / std per channel, by a table of 256 entries (image/).
Transform NormalizeWith(std::vector<double> mean, std::vector<double> std);

// [height, width, channels] to [channels, height, width].
Transform HWC2CHW();
// NOLINTEND(readability-identifier-naming)

// Normalize(mean, std), or Normalize::imagenet() for the usual means and deviations.
struct Normalize {
  Transform transform;
  Normalize(std::vector<double> mean, std::vector<double> std)
      : transform(NormalizeWith(std::move(mean), std::move(std))) {}
  static Normalize imagenet() {
    return {{image::kImagenetMean.begin(), image::kImagenetMean.end()},
            {image::kImagenetStd.begin(), image::kImagenetStd.end()}};
  }
  operator Transform() const { return transform; }  // NOLINT(google-explicit-constructor)
};

// Their entries in the table.
std::vector<TransformEntry> tail_transforms();

}  // namespace ridgeline::data
