// ridgeline/device/cuda/cudnn/kernels.h
//
// The kernels of conv2d, conv2d_bwd_data and conv2d_bwd_weights by cuDNN. Where the library is faster on one type than
// the op's mixture, a kernel is several launches: an f32 bias beside bf16 or f16 data is rounded to their type first,
// an f32 gradient of weights is written in the operands' type and widened. High precision allows neither. First layers
// of tensor cores go over blocks of pixels (blocks.h). A bias gradient is a sum of our own.
#pragma once

#include "ridgeline/device/cuda/plans/libraries.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline::cuda::cudnn {

// A kernel, or the library's reason why there is none. Under `deterministic` no engine that is compiled at run time:
// nobody promises its bits.
KernelChoice make_convolution(const KernelRequest& request, Libraries& libraries);

}  // namespace ridgeline::cuda::cudnn
