// ridgeline/device/cpu/peak.h
//
// The machine's own limit, measured: multiply-adds on registers, on all threads of the compute team, with operands
// that are neither zero nor constant.
#pragma once

namespace ridgeline::device {

// f32 GFLOP/s of the team with the instruction set in force; the best of several short runs (about 0.2 s in all).
double measure_f32_peak();

}  // namespace ridgeline::device
