// ridgeline/graph/pass/fuse_pool_gradient.h
//
// Lets the gradients of a convolution read the gradient of the pooled image and its index, where the device has kernels
// that do so for all that read the gradient of max pooling:
//   conv2d_bwd_weights(x, max_pool_bwd(dy, index))  ->  conv2d_max_pool_bwd_weights(x, dy, index)
//   conv2d_bwd_data(max_pool_bwd(dy, index), w)     ->  conv2d_max_pool_bwd_data(dy, index, w)
// Keeps: every returned value and update, and the names of the convolution's gradients. Drops: max_pool_bwd.
#pragma once

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

Graph fuse_pool_gradient(Graph graph, PassContext& context);

}  // namespace ridgeline
