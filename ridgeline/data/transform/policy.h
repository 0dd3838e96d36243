// ridgeline/data/transform/policy.h
//
// Automatic augmentation. The policies refuse data with a column boxes, which they could not update.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/data/ir/graph.h"
#include "ridgeline/data/transform/options.h"

namespace ridgeline::data {

struct TransformEntry;  // ir/registry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
struct AutoAugmentOptions {
  std::string policy = "imagenet";  // or cifar10, svhn
  std::string interpolation = "nearest";
  Fill fill = {};
};
Transform AutoAugment(AutoAugmentOptions options = {});

struct RandAugmentOptions {
  std::int64_t num_ops = 2;
  std::int64_t magnitude = 9;
  std::int64_t num_magnitude_bins = 31;
  std::string interpolation = "nearest";
  Fill fill = {};
};
Transform RandAugment(RandAugmentOptions options = {});

struct TrivialAugmentWideOptions {
  std::int64_t num_magnitude_bins = 31;
  std::string interpolation = "nearest";
  Fill fill = {};
};
Transform TrivialAugmentWide(TrivialAugmentWideOptions options = {});
// NOLINTEND(readability-identifier-naming)

// Their entries in the table.
std::vector<TransformEntry> policy_transforms();

}  // namespace ridgeline::data
