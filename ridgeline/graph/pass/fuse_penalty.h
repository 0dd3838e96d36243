// ridgeline/graph/pass/fuse_penalty.h
//
// Takes the squares of weights that an L2 penalty wants from the dense updates that read those weights anyway, where
// the device says that this is faster: the penalty keeps its other operands, and what reads it moves behind the
// updates. Keeps: values; the penalty's sums are joined in another order. Drops: a pass over those weights.
#pragma once

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

Graph fuse_penalty(Graph graph, const PassContext& context, PassResults& results);

}  // namespace ridgeline
