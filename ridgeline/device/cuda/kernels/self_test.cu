#include "ridgeline/device/cuda/kernels/self_test.h"

extern "C" __global__ void self_test(const __grid_constant__ ridgeline::cuda::SelfTestParameters p) {
  ridgeline::cuda::self_test_element(p, static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x));
}
