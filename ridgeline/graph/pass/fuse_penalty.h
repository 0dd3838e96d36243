// ridgeline/graph/pass/fuse_penalty.h
//
// Lets the dense updates, which read the weights anyway, also sum the squares that an L2 penalty needs, where the
// device says that this is faster. The penalty keeps its other operands, and its readers move after the updates.
// Keeps: values; the penalty's sums are added in another order. Drops: a pass over those weights.
#pragma once

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

Graph fuse_penalty(Graph graph, const PassContext& context, PassResults& results);

}  // namespace ridgeline
