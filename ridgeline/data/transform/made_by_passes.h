// ridgeline/data/transform/made_by_passes.h
//
// Transforms that only passes make, from those of tail.h; no front end offers them.
#pragma once

#include <optional>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
// Draws as RandomHorizontalFlip, but into the column flip; the consumer mirrors the pixels.
Transform DrawFlip(double p);
// Flip, normalize and a change of layout, as far as given, in one pass over the pixels; has the name of the one that
// draws, or of the last.
Transform Write(const std::optional<Transform>& flip, const std::optional<Transform>& normalize,
                const std::optional<Transform>& layout);
// An operation that ends in a resize, whose rows go through a write while they are in cache.
Transform ResizeWrite(Transform resize, Transform write);
// NOLINTEND(readability-identifier-naming)

}  // namespace ridgeline::data
