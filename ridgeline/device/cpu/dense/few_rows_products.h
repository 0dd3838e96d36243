// ridgeline/device/cpu/dense/few_rows_products.h
//
// Products of a large matrix of weights (f32, bf16 or f16) with few rows of f32 values. Each reads the weights once,
// some rows at a time, and prefetches the next ones, so that memory is the only limit. The order of a sum depends only
// on the shapes, not on the length of vectors. Pointers may have any alignment. Any thread may call.
#pragma once

#include <cstdint>

#include "ridgeline/core/dtype.h"

namespace ridgeline::device {

constexpr std::int64_t kFewRowsAtMost = 8;

// Matrices whose rows are `step` elements apart.
template <class T>
struct RowsAt {
  const T* at;
  std::int64_t step;
  RowsAt from(std::int64_t row, std::int64_t column) const { return {at + row * step + column, step}; }
};

struct WeightRows {
  const void* at;
  DType type;
  std::int64_t step;
  WeightRows from(std::int64_t row, std::int64_t column) const {
    const auto bytes = static_cast<std::int64_t>(size_of(type));
    return {static_cast<const char*>(at) + (row * step + column) * bytes, type, step};
  }
};

// y[r, k] = sum over i < n of w[k, i] * x[r, i], for `outputs` rows of w and `rows` of x, at most kFewRowsAtMost. Sums
// use sixteen virtual lanes.
void dot_few_rows(WeightRows w, std::int64_t outputs, RowsAt<float> x, std::int64_t rows, std::int64_t n, float* y,
                  std::int64_t y_step);

// dx[r, i] = sum over k < outputs of dy[r, k] * w[k, i], for `rows` rows and n inputs. Eight products at a time.
void combine_few_rows(WeightRows w, std::int64_t outputs, RowsAt<float> dy, std::int64_t rows, std::int64_t n,
                      float* dx, std::int64_t dx_step);

// dw[k, i] = sum over r < rows of dy[r, k] * x[r, i], for `outputs` rows of n inputs. `past_caches`: the result is not
// read soon.
void multiply_few_rows(RowsAt<float> dy, RowsAt<float> x, std::int64_t rows, std::int64_t outputs, std::int64_t n,
                       float* dw, std::int64_t dw_step, bool past_caches);

}  // namespace ridgeline::device
