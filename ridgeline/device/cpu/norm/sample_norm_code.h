// ridgeline/device/cpu/norm/sample_norm_code.h
//
// The loops of layer and group norms and of their gradients, for f32 and bf16 values, for the active vector target.
// Free functions without state; any thread may call.
#pragma once

#include <cstdint>

#include "ridgeline/core/dtype.h"

namespace ridgeline::device {

// The arguments of one kernel call; that of the gradient if dy is given.
template <class Value>
struct NormRows {
  const Value* x;
  const Value* dy;
  Value* to;  // y or dx
};

// Per channel: to = (x - mean) * scale + shift.
struct NormLine {
  const float *mean, *scale, *shift;
};

// Per channel: dx = (dy * gamma - of_sum - xhat * of_product) * inv_std, xhat = (x - mean) * inv_std.
struct NormGradientLine {
  const float *mean, *inv_std, *gamma, *of_sum, *of_product;
};

// The functions of one vector target.
template <class Value>
struct NormCode {
  void (*row)(const NormRows<Value>& row, const float* gamma, const float* beta, std::int64_t n, double epsilon,
              float* buffer, float* mean, float* inv_std);
  void (*row_gradient)(const NormRows<Value>& row, const float* gamma, std::int64_t n, float mean, float inv_std,
                       float* buffer, float* dgamma, float* dbeta);
  void (*sums)(const Value* x, std::int64_t positions, std::int64_t channels, const float* mean, double* sums);
  void (*gradient_sums)(const NormRows<Value>& rows, std::int64_t positions, std::int64_t channels, const float* mean,
                        const float* inv_std, double* sums, double* products);
  void (*apply)(const NormRows<Value>& rows, std::int64_t positions, std::int64_t channels, const NormLine& line);
  void (*apply_gradient)(const NormRows<Value>& rows, std::int64_t positions, std::int64_t channels,
                         const NormGradientLine& line);
};

// For the active vector target.
template <class Value>
NormCode<Value> norm_code_of();
template <>
NormCode<float> norm_code_of<float>();
template <>
NormCode<bfloat16> norm_code_of<bfloat16>();

}  // namespace ridgeline::device
