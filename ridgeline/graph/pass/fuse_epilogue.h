// ridgeline/graph/pass/fuse_epilogue.h
//
// Lets an op apply the pointwise op that follows it (conv2d and relu), where the device's kernels can and nobody else
// reads what comes before it.
// Keeps: every returned value and update, and the name of the op. Drops: the pointwise op.
#pragma once

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

Graph fuse_epilogue(Graph graph, PassContext& context);

}  // namespace ridgeline
