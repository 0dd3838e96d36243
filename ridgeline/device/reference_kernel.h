// ridgeline/device/reference_kernel.h
//
// The last entry of every kernel list: the op's own reference implementation on plain layouts. Slow and exact.
#pragma once

#include "ridgeline/device/kernel.h"

namespace ridgeline {

KernelChoice make_reference_kernel(const KernelRequest& request);

}  // namespace ridgeline
