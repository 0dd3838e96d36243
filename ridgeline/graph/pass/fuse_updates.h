// ridgeline/graph/pass/fuse_updates.h
//
// Two passes that merge updates of many parameters into one op, where the device can. It runs at the place of the last
// of them and has its name. Their gradients, rule and learning rate are alike.
// Keep: values, bit by bit. Drop: the other updates.
#pragma once

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

// Those of small parameters: biases, scales and offsets of norms.
Graph fuse_updates(Graph graph, const PassContext& context, PassResults& results);

// Behind fuse_pointwise, where a loop casts or scales a gradient and updates by it: those of all other parameters up to
// FusionLimits::grouped_update_elements.
Graph group_updates(Graph graph, const PassContext& context, PassResults& results);

}  // namespace ridgeline
