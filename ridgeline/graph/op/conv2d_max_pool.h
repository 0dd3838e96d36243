// ridgeline/graph/op/conv2d_max_pool.h
//
// What compilation makes of a convolution and the max pooling that alone reads it, whose image and its gradient then
// need not be values: y, index = max_pool(conv2d(x, w, b)), and the gradients of that from the gradient of y and the
// index. Made by the fused forms fuse_max_pool and fuse_pool_gradient.
#pragma once

#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// conv2d_max_pool, conv2d_max_pool_bwd_data, conv2d_max_pool_bwd_weights.
std::vector<OpDef> conv2d_max_pool_ops();

// The attributes of conv2d_max_pool as those of the two ops, complete, and from them.
Attributes convolution_part(const Attributes& attributes);
Attributes pooling_part(const Attributes& attributes);
Attributes conv2d_max_pool_attributes(const Attributes& convolution, const Attributes& pooling);
// The attributes of conv2d_bwd_data or conv2d_bwd_weights, and of the max_pool_bwd whose result it alone reads, as
// those of one op.
Attributes pooled_gradient_attributes(const Attributes& convolution, const Attributes& pooling);

// The type of the convolution's result.
ValueType convolution_result(const OpInstance& op);
// The type of what max_pool_bwd would give: the gradient of the convolution's result.
ValueType convolution_gradient(const OpInstance& op);

}  // namespace ridgeline
