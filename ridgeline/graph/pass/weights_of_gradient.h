// ridgeline/graph/pass/weights_of_gradient.h
//
// Which weights a gradient is of, by what reads what: names tell nothing.
#pragma once

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

// The weights whose gradient a dense_bwd_weights computes: those of the dense layer that reads the same x. kNoValue
// where there is none, or nothing tells several apart.
ValueId weights_of_gradient(const Graph& graph, const Node& gradient);

}  // namespace ridgeline
