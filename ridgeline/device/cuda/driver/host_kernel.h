// ridgeline/device/cuda/driver/host_kernel.h
//
// The host version of a kernel: the same body over a block context on the host, with the same bits. The recording
// driver finds it by the kernel's name.
#pragma once

#include <functional>
#include <string_view>

#include "ridgeline/device/cuda/driver/types.h"

namespace ridgeline::cuda {

// Runs the whole grid; `parameters` is the kernel's parameter struct with host addresses in it. In shared objects from
// which modules are loaded, it is a function of this type with the kernel's name.
using HostKernelFunction = void(const Extent3& grid, const Extent3& block, unsigned shared_bytes,
                                const void* parameters);

struct HostKernel {
  std::string_view name;  // the kernel's, which is extern "C"
  std::function<HostKernelFunction> run;
};

}  // namespace ridgeline::cuda
