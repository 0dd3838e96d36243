// ridgeline/graph/pass/fuse_dense_update.h
//
// Lets the update of a dense layer's weights compute their gradient, where the device can: the gradient is then never
// written to memory. Where something else reads the gradient as well (a norm of gradients, a sum over several steps),
// both ops stay. The new op stands where the update stood and bears its name.
// Keeps: values, bit by bit. Drops: the gradient.
#pragma once

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

Graph fuse_dense_update(Graph graph, PassContext& context);

}  // namespace ridgeline
