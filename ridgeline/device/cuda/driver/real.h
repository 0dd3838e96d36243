// ridgeline/device/cuda/driver/real.h
//
// The driver of this machine.
#pragma once

#include <memory>

#include "ridgeline/device/cuda/driver/driver.h"

namespace ridgeline::cuda {

// The oldest driver that runs our code, as of cuDriverGetVersion: that of the toolkit that compiles the kernels has no
// other cubins than for it.
inline constexpr int kLeastDriverVersion = 13000;

// Opens libcuda.so.1. An Error if there is none, or if it lacks a function.
std::unique_ptr<Driver> open_driver();

}  // namespace ridgeline::cuda
