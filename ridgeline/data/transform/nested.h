// ridgeline/data/transform/nested.h
//
// Transforms made of others, on samples or (for BatchOptions::operations) on whole batches. The operations in them draw
// under their own names, so they draw the same inside and outside.
#pragma once

#include <vector>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

struct TransformEntry;  // ir/registry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
Transform Compose(std::vector<Transform> operations);
// All of them with probability p, else none.
Transform RandomApply(std::vector<Transform> operations, double p = 0.5);
// One of them: with equal probability, or in proportion to weights.
Transform RandomChoice(std::vector<Transform> operations, std::vector<double> weights = {});
// All of them in random order; none may change the type or size of the image.
Transform RandomOrder(std::vector<Transform> operations);
// NOLINTEND(readability-identifier-naming)

// Their entries in the table.
std::vector<TransformEntry> nested_transforms();

}  // namespace ridgeline::data
