// ridgeline/device/cpu/kernels_version.h
//
// Identifies the kernels: a hash of the sources of ridgeline/device with their paths, made when the program is built
// (scripts/kernels_version.cmake). Measurements of other kernels are discarded (kernel_tuner.h).
#pragma once

#include <string_view>

namespace ridgeline {

std::string_view kernels_version();

}  // namespace ridgeline
