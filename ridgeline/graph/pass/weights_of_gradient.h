// ridgeline/graph/pass/weights_of_gradient.h
//
// Which weights a gradient belongs to, found by following readers: names do not tell.
#pragma once

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

// The weights whose gradient a dense_bwd_weights computes: those of the dense layer that reads the same x. kNoValue if
// there is none, or if several cannot be told apart.
ValueId weights_of_gradient(const Graph& graph, const Node& gradient);

}  // namespace ridgeline
