// ridgeline/graph/pass/fuse_addend.h
//
// Lets an op add another value to its result (batch norm and the sum at the end of a residual block), where the device
// can and nobody else reads the result without it.
// Keeps: every returned value and update, and the name of the op. Drops: the sum. Of two ops that could take it the
// later one does; it runs where the sum stood if the other summand is made behind it.
#pragma once

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

Graph fuse_addend(Graph graph, PassContext& context);

}  // namespace ridgeline
