// ridgeline/compile/fusion_switch.h
//
// The option `fusion` and what a device supports. By default programs are fused as far as the device says
// (Device::fusion_limits); asking for fusion explicitly is an Error if the device has none.
#pragma once

#include <optional>

#include "ridgeline/device/device.h"

namespace ridgeline {

// Whether the device runs chains of pointwise ops as one launch.
bool compiles_loops(const Device& device);

// An Error (usage) "fusion: not supported on this backend: ..." if fusion is asked for (true) and the device compiles
// no loops.
void check_fusion(const Device& device, std::optional<bool> fusion);

}  // namespace ridgeline
