// ridgeline/device/update_group_kernel.h
//
// The kernel of an update_group: a loop kernel for each parameter, run one after the other, so that the bits are those
// of the separate updates.
#pragma once

#include <string>

#include "ridgeline/device/kernel.h"

namespace ridgeline {

// `make_loop` is the device's factory of loops; if one loop is refused, so is the group.
KernelChoice make_update_group_kernel(const KernelRequest& request, KernelChoice (*make_loop)(const KernelRequest&),
                                      std::string name);

}  // namespace ridgeline
