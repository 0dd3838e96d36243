// ridgeline/device/cpu/library.h
//
// The kernels of the kernel library (oneDNN), where the build has it: CMake's RIDGELINE_ONEDNN compiles either
// onednn/table.cpp or no_library.cpp, and nobody else knows.
#pragma once

#include <span>
#include <string>

#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

// Of an op the library's own entry first, then the one by chunks. Empty in a build without the library.
std::span<const KernelEntry> library_kernels();
// "onednn 3.2.0"; "no library" in a build without it.
std::string library_version();

}  // namespace ridgeline::device
