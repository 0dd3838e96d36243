// ridgeline/device/cuda/kernel_images.h
//
// The fat binaries of kernels/*.cu, one for each file, contained in the plug-in: code for sm_80 and sm_90a, and PTX for
// later cards. Only builds with a toolkit have them; the recording driver runs the kernels' host versions.
#pragma once

#include <span>
#include <string_view>

namespace ridgeline::cuda {

struct KernelImage {
  std::string_view file;  // without .cu
  std::span<const unsigned char> fat_binary;
};

std::span<const KernelImage> kernel_images();

}  // namespace ridgeline::cuda
