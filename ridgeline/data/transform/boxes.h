// ridgeline/data/transform/boxes.h
//
// Transforms of the boxes beside an image.
#pragma once

#include <vector>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

struct TransformEntry;  // ir/registry.h

// NOLINTBEGIN(readability-identifier-naming): functions that stand for a node are named like the node's type elsewhere.
struct ClipBoxesOptions {
  double min_area = 1;   // pixels
  double min_share = 0;  // of the box's area before
};
// Cuts the column boxes off at the image's borders and drops small ones together with their box_labels.
Transform ClipBoxes(ClipBoxesOptions options = {});
// NOLINTEND(readability-identifier-naming)

// Their entries in the table.
std::vector<TransformEntry> box_transforms();

}  // namespace ridgeline::data
