// ridgeline/device/cuda/cudnn/kernels.h
//
// The kernels of conv2d, conv2d_bwd_data and conv2d_bwd_weights by cuDNN. If the library is faster on one type than on
// the op's mixture of types, a kernel consists of several launches: an f32 bias with bf16 or f16 data is first rounded
// to their type, an f32 gradient of weights is written in the operands' type and widened. High precision allows
// neither. First layers on tensor cores use blocks of pixels (blocks.h). A bias gradient is a sum of our own.
#pragma once

#include "ridgeline/device/cuda/plans/libraries.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline::cuda::cudnn {

// A kernel, or the library's reason why there is none. With `deterministic`, engines that are compiled at run time are
// excluded: their bits are not guaranteed.
KernelChoice make_convolution(const KernelRequest& request, Libraries& libraries);

}  // namespace ridgeline::cuda::cudnn
