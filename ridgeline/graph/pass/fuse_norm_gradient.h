// ridgeline/graph/pass/fuse_norm_gradient.h
//
// Lets batch_norm_bwd apply the gradient of the relu behind the batch norm, and the sum of two gradients in front of
// that, where the device can. The relu's gate is recomputed from x where relu(batch norm) is all there was, else read
// from y. Others that read the gradient behind the relu (the shortcut of a residual block) read a result of
// batch_norm_bwd, which runs where relu_grad stood.
// Keeps: every returned value and update, and the name of batch_norm_bwd. Drops: relu_grad and the sum.
#pragma once

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

Graph fuse_norm_gradient(Graph graph, PassContext& context);

}  // namespace ridgeline
