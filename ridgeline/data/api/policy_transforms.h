// ridgeline/data/api/policy_transforms.h
//
// Automatic augmentation of samples, for Dataset::map, and mixing of whole batches, for BatchOptions::operations; see
// transforms.h. The policies refuse images with a column boxes, which they could not carry along.
#pragma once

#include <cstdint>
#include <string>

#include "ridgeline/data/api/transform_options.h"
#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

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

// Of whole batches: each sample is mixed with the one before it. Labels must be one-hot f32 (OneHot before batch);
// padded and skipped rows are left alone. RandomChoice({MixUp(), CutMix()}) is torchvision's recipe. Not with
// raw_images.
Transform MixUp(double alpha = 1);
Transform CutMix(double alpha = 1);
// NOLINTEND(readability-identifier-naming)

}  // namespace ridgeline::data
