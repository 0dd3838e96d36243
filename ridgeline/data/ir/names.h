// ridgeline/data/ir/names.h
//
// Stable names: the keys of random numbers. A node or transform is named after its op; the second and later ones with
// the same op, in the order of the graph, get a number ("random_horizontal_flip", "random_horizontal_flip_1"). Names
// are given once, where they are empty, and kept by every pass, so that passes cannot change what is drawn.
#pragma once

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

void give_names(DataGraph& graph);

}  // namespace ridgeline::data
