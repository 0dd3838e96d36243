// ridgeline/data/transform/vertical_flip.h
//
// Mirrors top to bottom. (Mirroring left to right is in tail.h.)
#pragma once

#include <vector>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

struct TransformEntry;  // ir/registry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
Transform RandomVerticalFlip(double p = 0.5);
// NOLINTEND(readability-identifier-naming)

// Their entries in the table.
std::vector<TransformEntry> vertical_flip_transforms();

}  // namespace ridgeline::data
