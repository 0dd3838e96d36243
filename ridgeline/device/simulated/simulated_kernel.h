// ridgeline/device/simulated/simulated_kernel.h
//
// Kernels of the simulated device: the op's reference, with the sizes by which the stream checks addresses.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "ridgeline/device/kernel.h"

namespace ridgeline {

struct SimulatedKernel final : Kernel {
  std::shared_ptr<Kernel> reference;  // shared with queued launches, which may outlive the program
  std::vector<std::size_t> input_bytes;
  std::vector<std::size_t> output_bytes;
  std::chrono::microseconds least_time{0};  // least time: of an exchange over a link
  bool product = false;                     // a convolution or dense layer, forward or backward
  // Gives itself to the stream in the arguments, which must be one of its device.
  void run(const KernelArguments& arguments) override;
};

// The factory of all its entries; the request's device is a SimulatedDevice.
KernelChoice make_simulated_kernel(const KernelRequest& request);

}  // namespace ridgeline
