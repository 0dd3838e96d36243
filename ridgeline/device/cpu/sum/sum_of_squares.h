// ridgeline/device/cpu/sum/sum_of_squares.h
//
// The sum of squares for an L2 penalty.
#pragma once

#include <cstdint>

namespace ridgeline::device {

// In f32 within 1,024 elements, in double across them; the order depends only on n. own_name() must have been called.
double squares_of(const float* x, std::int64_t n);

// The same for values that are in a cache: prefetches nothing beyond them.
double squares_in_cache(const float* x, std::int64_t n);

}  // namespace ridgeline::device
