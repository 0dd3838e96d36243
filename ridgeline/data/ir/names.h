// ridgeline/data/ir/names.h
//
// Stable names: the keys of random numbers. The k-th node or transform with some op, counted along the graph, is named
// after its op, with _k from the second on ("random_horizontal_flip", "random_horizontal_flip_1"). Given once, where a
// name is empty, and kept by every pass, so that passes cannot change what is drawn.
#pragma once

#include "ridgeline/data/ir/graph.h"

namespace ridgeline::data {

void give_names(DataGraph& graph);

}  // namespace ridgeline::data
