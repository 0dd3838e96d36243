// ridgeline/device/cpu/peak.h
//
// Measures the machine's arithmetic limit: multiply-adds on registers, on all threads of the compute team, with
// operands that are neither zero nor constant.
#pragma once

#include "ridgeline/device/cpu/measured_rate.h"

namespace ridgeline::device {

// f32 GFLOP/s of the team with the active instruction set, in several short runs (about 0.2 s in all).
MeasuredRate measure_f32_rate();

}  // namespace ridgeline::device
