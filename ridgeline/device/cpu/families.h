// ridgeline/device/cpu/families.h
//
// The families of CPU kernels, which kernel_table.cpp joins. library.h has the kernel library's.
#pragma once

#include <span>

#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

// bf16 on tile registers or by dot products; f32 as sums of two bf16 (docs/device-tiles.md).
std::span<const KernelEntry> tile_kernels();
// 3x3 and 5x5 with stride 1, and strided kernels that span 3 or 5 strides (docs/device-winograd.md).
std::span<const KernelEntry> winograd_kernels();
// Convolutions of one group as products over pixels (docs/device-pixels.md).
std::span<const KernelEntry> pixel_kernels();
// Convolutions with a filter for each channel (docs/device-depthwise.md).
std::span<const KernelEntry> depthwise_kernels();
// Convolutions of any shape; a build without a kernel library trains with them (docs/device-direct.md).
std::span<const KernelEntry> direct_kernels();
// Dense layers over many rows and over few, their updates, products of any matrices (docs/device-dense.md).
std::span<const KernelEntry> dense_kernels();
// Plain layouts; sums over fixed chunks whose borders depend only on the shapes (docs/device-own.md).
std::span<const KernelEntry> pool_kernels();
std::span<const KernelEntry> norm_kernels();
std::span<const KernelEntry> sum_kernels();
std::span<const KernelEntry> copy_kernels();
// One entry for every pointwise op and `loop` (docs/loop.md).
std::span<const KernelEntry> loop_kernels();

}  // namespace ridgeline::device
