// ridgeline/device/cpu/isa_machine.h
//
// The parts of isa.cpp that depend on the architecture: isa_x86.cpp or isa_arm.cpp. Any thread may call.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/device/cpu/isa.h"

namespace ridgeline::device {

// The instruction sets of the architecture, lowest first, whether the machine has them or not.
std::span<const Isa> architecture_isas();

// Those of this machine, lowest first. An Error if it lacks what every kernel needs.
std::vector<Isa> detect_isas();

// Why the machine lacks one of them, if that needs an explanation; else empty.
std::string why_missing(Isa isa);

// Highway's targets that are above it.
std::int64_t highway_targets_above(Isa isa);

// Whether this maker's bf16 dot products are faster than f32 products, where the machine has them.
bool makers_dots_are_fast();

}  // namespace ridgeline::device
