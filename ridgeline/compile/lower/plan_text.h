// ridgeline/compile/lower/plan_text.h
//
// A plan as text, for tests and readers: every buffer with its home, type, device and layout, then the launches in
// order and the returned values. Not parsed back.
//
//   plan @step
//     b0 = store w: f32[8,4] on simulated
//     b1 = input x: f32[2,4] on cpu
//     b2 = arena f32[2,4] on simulated
//     copy b1 -> b2
//     dense "dense_1" on simulated: b2, b0 -> b3
//     derive b4: convert on cpu: b0 -> b4
//     return b3 "y"
//
// A launch that runs side by side with others begins with its lane, its number and those that it waits for:
//
//     lane 1, 4 behind 2: dense on cpu: b2, b0 -> b3
#pragma once

#include <string>

#include "ridgeline/compile/lower/plan.h"

namespace ridgeline {

// Kernels are named by their op, so the text is the same on every machine.
std::string to_text(const Plan& plan);

// "b3 (arena f32[2,4] on cpu)", and "launch 4 (dense "fc1" on cpu: b2, b0 -> b3)"; launches are counted from 0.
std::string buffer_text(const Plan& plan, int buffer);
std::string launch_text(const Plan& plan, int launch);

}  // namespace ridgeline
