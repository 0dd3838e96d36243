// ridgeline/device/cpu/widened_kernel.h
//
// Ops on bf16 and f16 values if this machine has no kernel that reads and writes them: each such operand is converted
// to f32 in scratch memory, the op's best f32 kernel runs, and its results are rounded once, to nearest even. The
// values are those of an exact emulation: storage in 16 bits, arithmetic in f32.
#pragma once

#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

// The table row of an op that has f32 kernels. It comes after all kernels of the types themselves.
KernelEntry widened_entry(const OpDef& def);

}  // namespace ridgeline::device
