// ridgeline/device/cpu/library.h
//
// The kernels of the kernel library (oneDNN), if the build has it: CMake's RIDGELINE_ONEDNN compiles either
// onednn/table.cpp or no_library.cpp; no other file depends on it.
#pragma once

#include <span>
#include <string>

#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

// For each op the library's entry first, then the one that works in chunks of images. Empty in a build without the
// library.
std::span<const KernelEntry> library_kernels();
// "onednn 3.2.0"; "no library" in a build without it.
std::string library_version();

}  // namespace ridgeline::device
