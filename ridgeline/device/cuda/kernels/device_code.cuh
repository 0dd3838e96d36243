// ridgeline/device/cuda/kernels/device_code.cuh
//
// Generates the device code for a list of kernels: RIDGELINE_<FAMILY>_KERNELS(RIDGELINE_DEVICE_CODE) in namespace
// ridgeline::cuda. "At least one block per multiprocessor" makes ptxas use registers rather than spill; a body that
// wants more of its blocks on one, and so fewer registers, says so: `kBlocksAtOnce`.
#pragma once

#include "ridgeline/device/cuda/kernels/block.h"

namespace ridgeline::cuda {
template <class Body>
constexpr int blocks_at_once() {
  if constexpr (requires { Body::kBlocksAtOnce; }) return Body::kBlocksAtOnce;
  return 1;
}
}  // namespace ridgeline::cuda

#define RIDGELINE_DEVICE_CODE(symbol, ...)                                                           \
  extern "C" __global__ void __launch_bounds__(__VA_ARGS__::kThreads, blocks_at_once<__VA_ARGS__>()) \
      symbol(const __grid_constant__ __VA_ARGS__::Parameters parameters) {                           \
    __shared__ __VA_ARGS__::Shared shared;                                                           \
    CardBlock block;                                                                                 \
    __VA_ARGS__::run(block, parameters, shared);                                                     \
  }
