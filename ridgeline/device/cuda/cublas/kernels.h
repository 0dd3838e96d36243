// ridgeline/device/cuda/cublas/kernels.h
//
// The kernels of dense, dense_bwd_data, dense_bwd_weights and matmul by cuBLASLt. What the library does not fuse is
// launched separately: an f32 bias with bf16 or f16 data is first rounded to their type (not in high precision), a bias
// gradient is a sum of our own.
#pragma once

#include "ridgeline/device/cuda/plans/libraries.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline::cuda::cublas {

// A kernel, or the library's reason why there is none.
KernelChoice make_product(const KernelRequest& request, Libraries& libraries);

}  // namespace ridgeline::cuda::cublas
