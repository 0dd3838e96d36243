// ridgeline/graph/pass/fuse_updates.h
//
// Merges the updates of small parameters (biases, scales and offsets of norms) that have the same rule and learning
// rate into one op, where the device can. It runs at the place of the last of them and has its name.
// Keeps: values, bit by bit. Drops: the other updates.
#pragma once

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

Graph fuse_updates(Graph graph, const PassContext& context, PassResults& results);

}  // namespace ridgeline
