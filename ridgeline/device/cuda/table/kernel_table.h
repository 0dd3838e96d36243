// ridgeline/device/cuda/table/kernel_table.h
//
// The one list of kernels of a card. For each op, compilation takes the first that accepts.
#pragma once

#include <string_view>
#include <vector>

#include "ridgeline/device/kernel.h"
#include "ridgeline/graph/pass/fusion_limits.h"

namespace ridgeline::cuda {

// With those of NVIDIA's libraries, or ours alone: what a machine without a card runs.
std::vector<KernelEntry> kernel_entries(std::string_view op, bool libraries);
// What they take as one launch.
FusionLimits fusion_of_kernels();

}  // namespace ridgeline::cuda
