// ridgeline/device/cpu/sum/sum_of_squares.h
//
// The sum that an L2 penalty is made of.
#pragma once

#include <cstdint>

namespace ridgeline::device {

// In f32 within 1,024 elements, in double across them; the order follows from n alone. own_name() must have been
// called.
double squares_of(const float* x, std::int64_t n);

// The same sum of values that a cache holds: asks for nothing that lies behind them.
double squares_in_cache(const float* x, std::int64_t n);

}  // namespace ridgeline::device
