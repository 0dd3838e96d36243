// ridgeline/device/cuda/cudnn/node.h
//
// From a node of the graph to the convolution that cuDNN is asked for. A bias gradient (attribute `bias` of
// conv2d_bwd_weights) is no part of it: the library's is slow on NHWC, and a kernel of our own computes it.
#pragma once

#include <span>

#include "ridgeline/device/cuda/cudnn/convolution.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline::cuda::cudnn {

// Of a node of conv2d, conv2d_bwd_data or conv2d_bwd_weights with complete attributes, over floating types that the
// library has.
Convolution convolution_of(const Node& node, std::span<const ValueType> inputs, std::span<const ValueType> outputs);

}  // namespace ridgeline::cuda::cudnn
