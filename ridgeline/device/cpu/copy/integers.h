// ridgeline/device/cpu/copy/integers.h
//
// Constants and sums of 64-bit integers, of which the number of the next step is made: a loop computes in f32, which
// does not hold them.
#pragma once

#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

KernelChoice make_own_integer_constant(const KernelRequest& request);
KernelChoice make_own_integer_add(const KernelRequest& request);

}  // namespace ridgeline::device
