// ridgeline/graph/pass/narrow_relu_grad.h
//
// Computes the gradient of a relu on what max pooling gives instead of on what it reads, which is larger: a window's
// maximum is above zero exactly where the pixel that it came from is.
//   relu_grad(y, max_pool_bwd(dy, index))  ->  max_pool_bwd(relu_grad(pooled, dy), index)   of pooled, index =
//   max_pool(y)
// Only where the device has kernels of both ops for the type of dy.
// Keeps: every returned value and update (zeros may change their sign). Changes: the order of the two ops.
#pragma once

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

Graph narrow_relu_grad(Graph graph, PassContext& context);

}  // namespace ridgeline
