// ridgeline/graph/op/conv2d_max_pool_bwd.h
//
// The gradients of a convolution whose result max pooling alone reads, from the gradient of the pooled image and its
// index: the image's own gradient need not be a value. Made by the pass fuse_pool_gradient.
#pragma once

#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// conv2d_max_pool_bwd_data, conv2d_max_pool_bwd_weights.
std::vector<OpDef> conv2d_max_pool_bwd_ops();

// The attributes of conv2d_bwd_data or conv2d_bwd_weights, and of the max_pool_bwd whose result it alone reads, as
// those of one op.
Attributes pooled_gradient_attributes(const Attributes& convolution, const Attributes& pooling);

// The type of what max_pool_bwd would give: the gradient of the convolution's result.
ValueType convolution_gradient(const OpInstance& op);

}  // namespace ridgeline
