// ridgeline/device/cuda/kernels/self_test.h
//
// The kernel for testing the driver: y[i] = a * x[i] + y[i], with the multiplication rounded.
#pragma once

namespace ridgeline::cuda {

struct SelfTestParameters {
  const float* x;
  float* y;
  float a;
  int count;
};

#ifdef __CUDACC__
#define RIDGELINE_ANYWHERE __host__ __device__
#else
#define RIDGELINE_ANYWHERE
#endif

RIDGELINE_ANYWHERE inline void self_test_element(const SelfTestParameters& p, int i) {
  if (i < p.count) p.y[i] = p.a * p.x[i] + p.y[i];
}

}  // namespace ridgeline::cuda
