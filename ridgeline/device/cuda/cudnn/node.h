// ridgeline/device/cuda/cudnn/node.h
//
// The cuDNN convolution for a node of the graph. A bias gradient (attribute `bias` of conv2d_bwd_weights) is not
// included: the library's is slow on NHWC, and our own kernel computes it.
#pragma once

#include <span>

#include "ridgeline/device/cuda/cudnn/convolution.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline::cuda::cudnn {

// For a node of conv2d, conv2d_bwd_data or conv2d_bwd_weights with complete attributes, over floating types that the
// library has.
Convolution convolution_of(const Node& node, std::span<const ValueType> inputs, std::span<const ValueType> outputs);

}  // namespace ridgeline::cuda::cudnn
