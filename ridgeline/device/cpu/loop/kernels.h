// ridgeline/device/cpu/loop/kernels.h
//
// Kernels of pointwise ops and fused loops: the block interpreter over the op's loop expression, in parallel, each
// element's value bit for bit that of the reference. f32 arithmetic on f32, bf16, f16, u8, bool and i32 operands; f32,
// bf16, f16 (rounded to nearest even) and bool results. f64 and integer arithmetic is refused (the reference takes
// those scalars).
//
// Sums accumulate in double over blocks whose borders depend on the expression alone: the same bits for any team size.
// Without broadcasts and random numbers a loop runs over any one blocked layout, padding included.
#pragma once

#include <span>

#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

// One entry for every pointwise op and `loop`.
std::span<const KernelEntry> loop_kernels();

KernelChoice make_loop_kernel(const KernelRequest& request);
KernelChoice make_own_update_group(const KernelRequest& request);

}  // namespace ridgeline::device
