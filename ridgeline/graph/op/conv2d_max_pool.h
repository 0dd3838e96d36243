// ridgeline/graph/op/conv2d_max_pool.h
//
// A convolution and the max_pool that alone reads it, whose image then need not be a value: y, index =
// max_pool(conv2d(x, w, b)). Made by the pass fuse_max_pool.
#pragma once

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

OpDef conv2d_max_pool_op();

// Its attributes as those of the two ops, complete, and from them.
Attributes convolution_part(const Attributes& attributes);
Attributes pooling_part(const Attributes& attributes);
Attributes conv2d_max_pool_attributes(const Attributes& convolution, const Attributes& pooling);

// The type of the convolution's result.
ValueType convolution_result(const OpInstance& op);

}  // namespace ridgeline
