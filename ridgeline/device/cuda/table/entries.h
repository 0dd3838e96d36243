// ridgeline/device/cuda/table/entries.h
//
// The rows of each family, which kernel_table.cpp joins.
#pragma once

#include <span>

#include "ridgeline/device/kernel.h"

namespace ridgeline::cuda {

std::span<const KernelEntry> convolution_entries();
std::span<const KernelEntry> copy_entries();
std::span<const KernelEntry> dense_entries();
std::span<const KernelEntry> dense_update_entries();
std::span<const KernelEntry> loop_entries();
std::span<const KernelEntry> loss_entries();
std::span<const KernelEntry> norm_entries();
std::span<const KernelEntry> pool_entries();
std::span<const KernelEntry> sum_entries();

// For rows by NVIDIA's libraries: a convolution, or a dense layer, of any pass, or a matrix product. The request says
// whether f32 is multiplied exactly or as tf32.
KernelChoice make_library_convolution(const KernelRequest& request);
KernelChoice make_library_product(const KernelRequest& request);

}  // namespace ridgeline::cuda
