// ridgeline/device/cuda/kernels/self_test_host.h
//
// The host version of self_test.cu.
#pragma once

#include "ridgeline/device/cuda/driver/host_kernel.h"

namespace ridgeline::cuda {

extern const HostKernel kSelfTest;

}  // namespace ridgeline::cuda
