// ridgeline/device/cpu/sum/column_sums.h
//
// The sum over rows, which is the gradient of a bias.
#pragma once

#include <cstdint>

namespace ridgeline::device {

// to[j] = sum over i < rows of from[i * step + j] for j in [0, columns), in double and in order. Uses the team. Values
// are f32 or bf16.
template <class Value>
void sum_columns(const Value* from, std::int64_t step, std::int64_t rows, std::int64_t columns, float* to);

}  // namespace ridgeline::device
