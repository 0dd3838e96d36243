#include "ridgeline/graph/loop/float_math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ridgeline::loop {
namespace {

float power_of_two(int n) { return std::bit_cast<float>(static_cast<std::uint32_t>(n + 127) << 23); }

}  // namespace

float exp_f32(float x) {
  using L = ExpRule;
  if (x != x) return x;
  if (x > L::kOverflow) return std::numeric_limits<float>::infinity();
  if (x < L::kUnderflow) return 0.0f;
  const float n = std::nearbyint(x * L::kLog2E);
  float r = std::fma(n, -L::kLn2High, x);
  r = std::fma(n, -L::kLn2Low, r);
  float q = L::kCoefficients[0];
  for (int i = 1; i < 6; ++i) q = std::fma(q, r, L::kCoefficients[i]);
  const float y = std::fma(q, r * r, r) + 1.0f;
  // Two factors: 2^128 is no float.
  const int whole = static_cast<int>(n);
  const int half = whole >> 1;
  return y * power_of_two(half) * power_of_two(whole - half);
}

float log_f32(float x) {
  using L = LogRule;
  if (x != x || x <= -L::kSmallest) return std::numeric_limits<float>::quiet_NaN();
  if (x < L::kSmallest) return -std::numeric_limits<float>::infinity();
  if (x == std::numeric_limits<float>::infinity()) return x;
  std::int32_t bits = std::bit_cast<std::int32_t>(x) + (0x3f800000 - L::kSqrtHalfBits);
  const float k = static_cast<float>((bits >> 23) - 127);
  bits = (bits & 0x007fffff) + L::kSqrtHalfBits;
  const float f = std::bit_cast<float>(bits) - 1.0f;
  const float s = f / (2.0f + f);
  const float z = s * s;
  const float w = z * z;
  const float t1 = w * (L::k2 + w * L::k4);
  const float t2 = z * (L::k1 + w * L::k3);
  const float half = 0.5f * f * f;
  return (s * (half + (t1 + t2)) + k * L::kLn2Low - half + f) + k * L::kLn2High;
}

}  // namespace ridgeline::loop
