// ridgeline/graph/loop/float_math.h
//
// How exp and log are computed in f32: single-precision steps in a fixed order, fused multiply-add where fma() is
// written. The vector kernels follow it step by step and give the same bits on every machine. Subnormal results are 0,
// and subnormal arguments count as 0. Errors are below 1.05 (exp) and 1 (log) units in the last place. f32 sine and
// cosine are the f64 ones of core/math.h, rounded.
#pragma once

namespace ridgeline::loop {

struct ExpRule {
  static constexpr float kOverflow = 0x1.62e42ep+6f;    // above: infinity
  static constexpr float kUnderflow = -0x1.5d589ep+6f;  // below: 0
  static constexpr float kLog2E = 0x1.715476p+0f;
  static constexpr float kLn2High = 0x1.62e4p-1f;  // ln 2 in two parts; n * high is exact
  static constexpr float kLn2Low = 0x1.7f7d1cp-20f;
  // Taylor coefficients of (exp(r) - 1 - r) / r^2, highest first; the first left-out term is below 2^-27 for |r| <=
  // ln(2)/2.
  static constexpr float kCoefficients[] = {1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f};
};

struct LogRule {
  // fdlibm e_logf.c: m in [sqrt(1/2), sqrt(2)), log(m) by a polynomial in ((m-1)/(m+1))^2.
  static constexpr int kSqrtHalfBits = 0x3f3504f3;
  static constexpr float kSmallest = 0x1p-126f;
  static constexpr float k1 = 0xaaaaaa.0p-24f;
  static constexpr float k2 = 0xccce13.0p-25f;
  static constexpr float k3 = 0x91e9ee.0p-25f;
  static constexpr float k4 = 0xf89e26.0p-26f;
  static constexpr float kLn2High = 6.9313812256e-01f;
  static constexpr float kLn2Low = 9.0580006145e-06f;
};

float exp_f32(float x);
float log_f32(float x);

}  // namespace ridgeline::loop
