// ridgeline/graph/pass/fuse_pointwise.h
//
// Merges chains of pointwise ops, and a full reduce_sum that ends one, into single `loop` ops: one launch that streams
// memory once. The device says how long a loop may be, and over which types.
// Keeps: values of every output, bit by bit (each primitive still rounds; a fused sum adds in the reference's order or
// the kernel's own tree), the order of everything else, and that no op reads a parameter after its update.
// Drops: intermediates nobody else reads. A fused op has the name of its last member and the lines of all; if it
// updates parameters, result i is the next version of operand i, as the memory planner requires.
#pragma once

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

Graph fuse_pointwise(Graph graph, const PassContext& context, PassResults& results);

}  // namespace ridgeline
