// ridgeline/data/pass/tail.h
//
// The tail of the transforms: at most one random_horizontal_flip and one normalize, in any order, at the end of the
// chain of maps. Mirroring commutes with elementwise functions, so their order does not matter. A hwc_to_chw may follow
// both.
#pragma once

#include <optional>

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

struct Tail {
  std::optional<Transform> flip, normalize, layout;
};
// The last map of the chain, or null.
Node* last_map(DataGraph& graph);
// Removes the tail from the maps, which may leave some without operations. Without `layout_too`, a hwc_to_chw at the
// end also keeps the operations before it in place.
Tail cut_tail(DataGraph& graph, bool layout_too = false);

}  // namespace ridgeline::data
