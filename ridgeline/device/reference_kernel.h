// ridgeline/device/reference_kernel.h
//
// The last entry of every kernel list: the op's own reference implementation on plain layouts. Slow and exact.
#pragma once

#include "ridgeline/device/kernel.h"

namespace ridgeline {

KernelChoice make_reference_kernel(const KernelRequest& request);

// The table row of an op's reference, which takes every type that the op takes. Its name is the definition's.
KernelEntry reference_entry(const OpDef& def);

}  // namespace ridgeline
