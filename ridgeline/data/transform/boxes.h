// ridgeline/data/transform/boxes.h
//
// Transforms of the boxes of an image.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

struct Frame;           // sample/step.h
struct TransformEntry;  // ir/registry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
struct ClipBoxesOptions {
  double min_area = 1;   // pixels
  double min_share = 0;  // of the box's area before
};
// Clips the column boxes to the image and drops small ones together with their box_labels.
Transform ClipBoxes(ClipBoxesOptions options = {});
// NOLINTEND(readability-identifier-naming)

// ---- for the transforms that drop boxes

// Keeps only the box_labels of these boxes, given by their former positions.
void keep_labels(Frame& frame, const std::vector<std::size_t>& kept);
// The schema after a transform that drops some of the column boxes f32[?,4]; an Error if there is no such column.
Schema boxes_dropped(const Transform& t, Schema schema, const std::vector<std::string>& columns);

// Their entries in the table.
std::vector<TransformEntry> box_transforms();

}  // namespace ridgeline::data
