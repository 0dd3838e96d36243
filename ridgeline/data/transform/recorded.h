// ridgeline/data/transform/recorded.h
//
// The column image_geometry: what is done to the image, for whoever moves masks, key points or boxes of another kind
// by the same numbers. Its lines are those of sample/geometry.h.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

struct TransformEntry;  // ir/registry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
// Begins the column: a map of the column image, before what shall be told. Maps behind it go on with it.
Transform RecordGeometry();
// A line of its own, to find a place in the chain again.
Transform NoteGeometry(std::string text);
// NOLINTEND(readability-identifier-naming)

// Their entries in the table.
std::vector<TransformEntry> recorded_transforms();

}  // namespace ridgeline::data
