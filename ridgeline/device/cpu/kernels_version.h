// ridgeline/device/cpu/kernels_version.h
//
// Which kernels these are: a hash of the sources of ridgeline/device, by their paths in it, made when the program is
// built (scripts/kernels_version.cmake). What was measured of other kernels counts no longer (kernel_tuner.h).
#pragma once

#include <string_view>

namespace ridgeline {

std::string_view kernels_version();

}  // namespace ridgeline
