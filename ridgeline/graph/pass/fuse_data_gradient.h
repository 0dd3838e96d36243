// ridgeline/graph/pass/fuse_data_gradient.h
//
// Lets conv2d_bwd_data apply the gradient of the relu that made the convolution's image, where the device can and
// nobody else reads the gradient in front of it:
//   relu_grad(y, conv2d_bwd_data(dy, w))  ->  conv2d_bwd_data(dy, w, y)
// Keeps: every returned value and update, and the name of conv2d_bwd_data. Drops: relu_grad.
#pragma once

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

Graph fuse_data_gradient(Graph graph, PassContext& context);

}  // namespace ridgeline
