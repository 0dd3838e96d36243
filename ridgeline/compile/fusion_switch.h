// ridgeline/compile/fusion_switch.h
//
// Fusion that is asked for, beside what a device can do. Left to the device, programs are fused as far as it says
// (Device::fusion_limits); who asks for fusion by name is told where there is none.
#pragma once

#include <optional>

#include "ridgeline/device/device.h"

namespace ridgeline {

// Whether the device runs chains of pointwise ops as one launch.
bool compiles_loops(const Device& device);

// An Error (usage) "fusion: not supported on this backend: ..." where fusion is asked for (true) and the device
// compiles no loops.
void check_fusion(const Device& device, std::optional<bool> fusion);

}  // namespace ridgeline
