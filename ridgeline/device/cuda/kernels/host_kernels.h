// ridgeline/device/cuda/kernels/host_kernels.h
//
// The host versions of all our kernels, for the recording driver.
#pragma once

#include <vector>

#include "ridgeline/device/cuda/driver/host_kernel.h"

namespace ridgeline::cuda {

std::vector<HostKernel> host_kernels();

}  // namespace ridgeline::cuda
