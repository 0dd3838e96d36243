// ridgeline/data/transform/recorded.h
//
// The column image_geometry: what is done to the image, for users who apply the same changes to masks, key points or
// other boxes. Its lines are those of sample/geometry.h.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

struct TransformEntry;  // ir/registry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
// Starts the column: put it into a map of the column image, before the transforms to be recorded. Later maps continue
// it.
Transform RecordGeometry();
// Adds a line, to mark a place in the chain.
Transform NoteGeometry(std::string text);
// NOLINTEND(readability-identifier-naming)

// Their entries in the table.
std::vector<TransformEntry> recorded_transforms();

}  // namespace ridgeline::data
