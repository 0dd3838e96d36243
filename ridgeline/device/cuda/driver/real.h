// ridgeline/device/cuda/driver/real.h
//
// The driver of this machine.
#pragma once

#include <memory>

#include "ridgeline/device/cuda/driver/driver.h"

namespace ridgeline::cuda {

// The least that runs our code, as cuDriverGetVersion tells it: that of the toolkit that compiles the kernels
// has no other cubins than for it.
inline constexpr int kLeastDriverVersion = 13000;

// Opens libcuda.so.1. An Error where there is none, or one that lacks a function.
std::unique_ptr<Driver> open_driver();

}  // namespace ridgeline::cuda
