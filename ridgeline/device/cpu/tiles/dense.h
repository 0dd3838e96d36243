// ridgeline/device/cpu/tiles/dense.h
//
// A dense node as the tile kernels see it: y[rows,outputs] = x[rows,inputs] w[outputs,inputs]^T. Weights are plain:
// each pass reads them once from memory, which is its limit, and packs them into tiles on the way. A plain value.
#pragma once

#include <vector>

#include "ridgeline/device/cpu/tiles/convolution.h"

namespace ridgeline::device::tiles {

struct Dense {
  std::int64_t rows = 0;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};

inline Dense dense_of(const ValueType& x, const ValueType& w) { return {x.shape[0], x.shape[1], w.shape[0]}; }

// Rows that are computed at a time: their sums and operands stay in the second-level cache.
constexpr std::int64_t kDenseRows = 256;

// Offsets of consecutive steps.
inline std::vector<std::int64_t> even_offsets(std::int64_t steps, std::int64_t distance) {
  std::vector<std::int64_t> offsets;
  for (std::int64_t i = 0; i < steps; ++i) offsets.push_back(i * distance);
  return offsets;
}

// The same if each step is three products of halves: high by high, high by low, low by high. `low`: the offset of the
// low half; `second`: whether for the second or the third product.
inline std::vector<std::int64_t> halves_offsets(std::int64_t steps, std::int64_t distance, std::int64_t low,
                                                bool second) {
  std::vector<std::int64_t> offsets;
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t at = i * distance;
    offsets.insert(offsets.end(), {at, second ? at + low : at, second ? at : at + low});
  }
  return offsets;
}

// bf16 values in a scratch memory that is measured in floats.
inline std::int64_t reserve_values(Scratch& scratch, std::int64_t n) { return scratch.reserve(blocks_of(n, 2)); }
inline bfloat16* values_at(float* scratch, std::int64_t at) { return reinterpret_cast<bfloat16*>(scratch + at); }

}  // namespace ridgeline::device::tiles
