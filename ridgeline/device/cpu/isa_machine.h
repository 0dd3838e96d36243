// ridgeline/device/cpu/isa_machine.h
//
// What isa.cpp asks of the architecture: isa_x86.cpp or isa_arm.cpp. Any thread may ask.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/device/cpu/isa.h"

namespace ridgeline::device {

// Those of the architecture, lowest first, whether the machine has them or not.
std::span<const Isa> architecture_isas();

// Those of this machine, lowest first. Error on one that lacks what every kernel needs.
std::vector<Isa> detect_isas();

// Why the machine lacks one of them, where that is no matter of course; else empty.
std::string why_missing(Isa isa);

// Highway's targets that are above it.
std::int64_t highway_targets_above(Isa isa);

// Whether the processor's maker makes bf16 dot products faster than those of f32.
bool makers_dots_are_fast();

}  // namespace ridgeline::device
