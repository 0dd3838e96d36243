// ridgeline/graph/ir/arithmetic.h
//
// A value's stored type and the type in which an op computes are independent: bf16 and f16 values are read into f32,
// computed with there, and rounded once when they are stored.
#pragma once

#include <string_view>

namespace ridgeline {

// f32 flushes subnormal numbers, as the compute team does.
enum class Arithmetic { f32, f64 };

constexpr std::string_view name_of(Arithmetic arithmetic) { return arithmetic == Arithmetic::f32 ? "f32" : "f64"; }

}  // namespace ridgeline
