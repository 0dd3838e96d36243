// ridgeline/data/transform/mix.h
//
// Mixing of whole batches, for BatchOptions::operations.
#pragma once

#include <vector>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

struct TransformEntry;  // ir/registry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
// Mixes each sample of a batch with the one before it. Labels must be one-hot f32 (OneHot before batch); padded and
// skipped rows are left alone. RandomChoice({MixUp(), CutMix()}) is torchvision's combination. Not with raw_images.
Transform MixUp(double alpha = 1);
Transform CutMix(double alpha = 1);
// NOLINTEND(readability-identifier-naming)

// Their entries in the table.
std::vector<TransformEntry> mix_transforms();

}  // namespace ridgeline::data
