// ridgeline/graph/op/conv2d_max_pool.h
//
// A convolution merged with the max pooling that is its only reader, and the gradients of the pair, so that the
// convolution's image and its gradient need not be stored: y, index = max_pool(conv2d(x, w, b)), and its gradients from
// dy and the index. Made by the fusions fuse_max_pool and fuse_pool_gradient.
#pragma once

#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// conv2d_max_pool, conv2d_max_pool_bwd_data, conv2d_max_pool_bwd_weights.
std::vector<OpDef> conv2d_max_pool_ops();

// The attributes of conv2d_max_pool, split into those of the two ops, complete; and joined from them.
Attributes convolution_part(const Attributes& attributes);
Attributes pooling_part(const Attributes& attributes);
Attributes conv2d_max_pool_attributes(const Attributes& convolution, const Attributes& pooling);
// The attributes of the op that merges conv2d_bwd_data or conv2d_bwd_weights with the max_pool_bwd of which it is the
// only reader.
Attributes pooled_gradient_attributes(const Attributes& convolution, const Attributes& pooling);

// The type of the convolution's result.
ValueType convolution_result(const OpInstance& op);
// The type of the gradient of the convolution's result, which max_pool_bwd would give.
ValueType convolution_gradient(const OpInstance& op);

}  // namespace ridgeline
