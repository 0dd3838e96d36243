// ridgeline/device/cuda/table/kernel_table.h
//
// The only list of a card's kernels. For each op, compilation takes the first that accepts.
#pragma once

#include <string_view>
#include <vector>

#include "ridgeline/device/kernel.h"
#include "ridgeline/graph/pass/fusion_limits.h"

namespace ridgeline::cuda {

// With those of NVIDIA's libraries, or only ours, for machines without a card.
std::vector<KernelEntry> kernel_entries(std::string_view op, bool libraries);
// What these kernels take as one launch.
FusionLimits fusion_of_kernels();

}  // namespace ridgeline::cuda
