// ridgeline/device/cuda/kernels/numbers.h
//
// Arithmetic that gives the same bits on a card and on the CPU: storage types, exp, log, sine and cosine as in
// graph/loop/float_math.h and core/math.h, and Philox as in core/random.h. Kernels include it; loop texts begin with it
// (loop/text.h), so it includes nothing and compiles under nvcc, NVRTC and g++ alike. NaN has the bits that the machine
// gives it.
#pragma once

#if defined(__CUDA_ARCH__) || defined(__CUDACC_RTC__)
#define RIDGELINE_ON_CARD 1
#else
#define RIDGELINE_ON_CARD 0
#endif
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define RIDGELINE_DEVICE __host__ __device__ __forceinline__
#define RIDGELINE_UNROLL _Pragma("unroll")
#define RIDGELINE_NO_UNROLL _Pragma("unroll 1")
#else
#define RIDGELINE_DEVICE inline __attribute__((always_inline))
#define RIDGELINE_UNROLL
#define RIDGELINE_NO_UNROLL
#endif

namespace ridgeline::cuda {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using i32 = int;
using u64 = unsigned long long;
using i64 = long long;

// ---- bits

RIDGELINE_DEVICE u32 bits_of(float x) { return __builtin_bit_cast(u32, x); }
RIDGELINE_DEVICE float float_of(u32 bits) { return __builtin_bit_cast(float, bits); }
RIDGELINE_DEVICE u64 bits_of(double x) { return __builtin_bit_cast(u64, x); }
RIDGELINE_DEVICE double double_of(u64 bits) { return __builtin_bit_cast(double, bits); }
RIDGELINE_DEVICE float infinity_f32() { return float_of(0x7f800000u); }
RIDGELINE_DEVICE float nan_f32() { return float_of(0x7fc00000u); }

// By the bits: the processor's negation would flush a denormal number.
RIDGELINE_DEVICE float negated(float x) { return float_of(bits_of(x) ^ 0x80000000u); }
RIDGELINE_DEVICE float absolute(float x) { return float_of(bits_of(x) & 0x7fffffffu); }
RIDGELINE_DEVICE double negated(double x) { return double_of(bits_of(x) ^ 0x8000000000000000ull); }
RIDGELINE_DEVICE double absolute(double x) { return double_of(bits_of(x) & 0x7fffffffffffffffull); }

// ---- one rounding each

RIDGELINE_DEVICE float fused(float a, float b, float c) {
#if RIDGELINE_ON_CARD
  return __fmaf_rn(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}
RIDGELINE_DEVICE float root(float x) {
#if RIDGELINE_ON_CARD
  return __fsqrt_rn(x);
#else
  return __builtin_sqrtf(x);
#endif
}
RIDGELINE_DEVICE double root(double x) {
#if RIDGELINE_ON_CARD
  return __dsqrt_rn(x);
#else
  return __builtin_sqrt(x);
#endif
}
RIDGELINE_DEVICE float nearest_integer(float x) {  // ties to even
#if RIDGELINE_ON_CARD
  return rintf(x);
#else
  return __builtin_rintf(x);
#endif
}
RIDGELINE_DEVICE double nearest_integer(double x) {
#if RIDGELINE_ON_CARD
  return rint(x);
#else
  return __builtin_rint(x);
#endif
}
RIDGELINE_DEVICE float integer_below(float x) {
#if RIDGELINE_ON_CARD
  return floorf(x);
#else
  return __builtin_floorf(x);
#endif
}
RIDGELINE_DEVICE double integer_below(double x) {
#if RIDGELINE_ON_CARD
  return floor(x);
#else
  return __builtin_floor(x);
#endif
}

// NaN if either is; of equal values the second.
template <class Real>
RIDGELINE_DEVICE Real larger(Real a, Real b) {
  return a != a || a > b ? a : b;
}
template <class Real>
RIDGELINE_DEVICE Real smaller(Real a, Real b) {
  return a != a || a < b ? a : b;
}

// ---- 16-bit storage

RIDGELINE_DEVICE float bf16_to_float(u16 bits) { return float_of(static_cast<u32>(bits) << 16); }

RIDGELINE_DEVICE u16 float_to_bf16(float x) {
#if RIDGELINE_ON_CARD
  u16 bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
#else
  const u32 bits = bits_of(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<u16>((bits >> 16) | 0x40u);
  return static_cast<u16>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
#endif
}

RIDGELINE_DEVICE float f16_to_float(u16 bits) {
#if RIDGELINE_ON_CARD
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
#else
  const u32 sign = static_cast<u32>(bits & 0x8000u) << 16;
  const u32 exponent = (bits >> 10) & 0x1fu;
  const u32 mantissa = bits & 0x3ffu;
  if (exponent == 0) return float_of(bits_of(static_cast<float>(mantissa) * 0x1p-24f) | sign);
  if (exponent == 31) return float_of(sign | 0x7f800000u | (mantissa << 13));
  return float_of(sign | ((exponent + 112u) << 23) | (mantissa << 13));
#endif
}

RIDGELINE_DEVICE u16 float_to_f16(float x) {
#if RIDGELINE_ON_CARD
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
#else
  const u32 bits = bits_of(x);
  const u32 sign = (bits >> 16) & 0x8000u;
  const u32 magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<u16>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<u16>(sign | 0x7c00u);  // rounds to >= 65520
  if (magnitude < 0x38800000u) {  // a subnormal result: |x| * 2^24 as an integer
    return static_cast<u16>(sign | static_cast<u32>(nearest_integer(float_of(magnitude) * 0x1p24f)));
  }
  const u32 rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<u16>(sign | ((rounded - 0x38000000u) >> 13));
#endif
}

// Two at a time, the first in the lower half.
RIDGELINE_DEVICE u32 floats_to_bf16(float low, float high) {
#if RIDGELINE_ON_CARD
  u32 bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
#else
  return static_cast<u32>(float_to_bf16(low)) | static_cast<u32>(float_to_bf16(high)) << 16;
#endif
}
RIDGELINE_DEVICE u32 floats_to_f16(float low, float high) {
#if RIDGELINE_ON_CARD
  u32 bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
#else
  return static_cast<u32>(float_to_f16(low)) | static_cast<u32>(float_to_f16(high)) << 16;
#endif
}

// ---- integers: towards zero, saturating, NaN is 0

RIDGELINE_DEVICE i64 saturated(double x, double least, double above, i64 lowest, i64 highest) {
  if (x != x) return 0;
  if (x >= above) return highest;
  if (x <= least) return lowest;
  return static_cast<i64>(x);
}
RIDGELINE_DEVICE u8 to_u8(double x) { return static_cast<u8>(saturated(x, 0.0, 256.0, 0, 255)); }
RIDGELINE_DEVICE i32 to_i32(double x) {
  return static_cast<i32>(saturated(x, -0x1p31, 0x1p31, -2147483647ll - 1, 2147483647ll));
}
RIDGELINE_DEVICE i64 to_i64(double x) {
  return saturated(x, -0x1p63, 0x1p63, -9223372036854775807ll - 1, 9223372036854775807ll);
}

// ---- exp and log in f32

RIDGELINE_DEVICE float exp_of(float x) {
  if (x != x) return x;
  if (x > 0x1.62e42ep+6f) return infinity_f32();
  if (x < -0x1.5d589ep+6f) return 0.0f;
  const float n = nearest_integer(x * 0x1.715476p+0f);
  float r = fused(n, -0x1.62e4p-1f, x);
  r = fused(n, -0x1.7f7d1cp-20f, r);
  float q = 1.0f / 5040;
  q = fused(q, r, 1.0f / 720);
  q = fused(q, r, 1.0f / 120);
  q = fused(q, r, 1.0f / 24);
  q = fused(q, r, 1.0f / 6);
  q = fused(q, r, 0.5f);
  const float y = fused(q, r * r, r) + 1.0f;
  const int whole = static_cast<int>(n);
  const int half = whole >> 1;
  return y * float_of(static_cast<u32>(half + 127) << 23) * float_of(static_cast<u32>(whole - half + 127) << 23);
}

RIDGELINE_DEVICE float log_of(float x) {
  const float smallest = 0x1p-126f;
  if (x != x || x <= -smallest) return nan_f32();
  if (x < smallest) return -infinity_f32();
  if (x == infinity_f32()) return x;
  i32 bits = static_cast<i32>(bits_of(x)) + (0x3f800000 - 0x3f3504f3);
  const float k = static_cast<float>((bits >> 23) - 127);
  bits = (bits & 0x007fffff) + 0x3f3504f3;
  const float f = float_of(static_cast<u32>(bits)) - 1.0f;
  const float s = f / (2.0f + f);
  const float z = s * s;
  const float w = z * z;
  const float t1 = w * (0xccce13.0p-25f + w * 0xf89e26.0p-26f);
  const float t2 = z * (0xaaaaaa.0p-24f + w * 0x91e9ee.0p-25f);
  const float half = 0.5f * f * f;
  return (s * (half + (t1 + t2)) + k * 9.0580006145e-06f - half + f) + k * 6.9313812256e-01f;
}

// ---- exp, log, sine and cosine in f64

RIDGELINE_DEVICE double exp_of(double x) {
  if (x != x) return x;
  if (x > 709.782712893384) return double_of(0x7ff0000000000000ull);
  if (x < -745.1332191019412) return 0.0;
  const double n = nearest_integer(x * 1.44269504088896338700e+00);
  const double high = x - n * 6.93147180369123816490e-01;
  const double low = n * 1.90821492927058770002e-10;
  const double r = high - low;
  const double t = r * r;
  const double c =
      r -
      t * (1.66666666666666019037e-01 +
           t * (-2.77777777770155933842e-03 +
                t * (6.61375632143793436117e-05 + t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08))));
  const double y = 1.0 - ((low - (r * c) / (2.0 - c)) - high);
  const int whole = static_cast<int>(n);
  const int half = whole / 2;
  return y * double_of(static_cast<u64>(1023 + half) << 52) * double_of(static_cast<u64>(1023 + whole - half) << 52);
}

RIDGELINE_DEVICE double log_of(double x) {
  if (x != x || x < 0.0) return double_of(0x7ff8000000000000ull);
  if (x == 0.0) return double_of(0xfff0000000000000ull);
  if (bits_of(x) == 0x7ff0000000000000ull) return x;
  int exponent = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    exponent = -54;
  }
  u64 bits = bits_of(x);
  exponent += static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull;
  double m = double_of(bits);
  if (m > 1.41421356237309504880) {
    m *= 0.5;
    ++exponent;
  }
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double w = z * z;
  const double t1 = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double t2 =
      z * (6.666666666666735130e-01 +
           w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const double half = 0.5 * f * f;
  const double k = exponent;
  return k * 6.93147180369123816490e-01 - ((half - (s * (half + (t1 + t2)) + k * 1.90821492927058770002e-10)) - f);
}

// An angle as quadrant * pi/2 + x + tail.
struct ReducedAngle {
  double x;
  double tail;
  int quadrant;
};

RIDGELINE_DEVICE ReducedAngle reduced_angle(double angle) {
  if (!(absolute(angle) <= 1e6)) return {double_of(0x7ff8000000000000ull), 0.0, 0};
  if (absolute(angle) <= 0.78539816339744830962) return {angle, 0.0, 0};
  const double n = nearest_integer(angle * 6.36619772367581382433e-01);
  const double high = angle - n * 1.57079632673412561417e+00;
  const double middle = n * 6.07710050630396597660e-11;
  const double sum = high - middle;
  const double back = high - sum;
  const double lost = (high - (sum + back)) - (middle - back);
  const double low = n * 2.02226624879595063154e-21 - lost;
  const double x = sum - low;
  return {x, (sum - x) - low, static_cast<int>(static_cast<i64>(n) & 3)};
}

RIDGELINE_DEVICE double sine_polynomial(const ReducedAngle& r) {
  if (absolute(r.x) < 0x1p-27) return r.x;
  const double z = r.x * r.x;
  double p = 2.8114572543455206e-15;
  p = p * z - 7.6471637318198164e-13;
  p = p * z + 1.6059043836821613e-10;
  p = p * z - 2.5052108385441720e-08;
  p = p * z + 2.7557319223985893e-06;
  p = p * z - 1.9841269841269841e-04;
  p = p * z + 8.3333333333333332e-03;
  p = p * z - 1.6666666666666666e-01;
  return r.x + (r.x * z * p + r.tail * (1.0 - 0.5 * z));
}

RIDGELINE_DEVICE double cosine_polynomial(const ReducedAngle& r) {
  const double z = r.x * r.x;
  double p = 4.7794773323873853e-14;
  p = p * z - 1.1470745597729725e-11;
  p = p * z + 2.0876756987868098e-09;
  p = p * z - 2.7557319223985888e-07;
  p = p * z + 2.4801587301587302e-05;
  p = p * z - 1.3888888888888889e-03;
  p = p * z + 4.1666666666666664e-02;
  const double half = 0.5 * z;
  const double w = 1.0 - half;
  return w + (((1.0 - w) - half) + (z * z * p - r.x * r.tail));
}

RIDGELINE_DEVICE double sine_of(double x) {
  const ReducedAngle r = reduced_angle(x);
  const double y = (r.quadrant & 1) ? cosine_polynomial(r) : sine_polynomial(r);
  return (r.quadrant & 2) ? -y : y;
}
RIDGELINE_DEVICE double cosine_of(double x) {
  const ReducedAngle r = reduced_angle(x);
  const double y = (r.quadrant & 1) ? sine_polynomial(r) : cosine_polynomial(r);
  return (r.quadrant == 1 || r.quadrant == 2) ? -y : y;
}

// ---- numbers of elements

RIDGELINE_DEVICE u32 high_product(u32 a, u32 b) {
#if RIDGELINE_ON_CARD
  return __umulhi(a, b);
#else
  return static_cast<u32>((static_cast<u64>(a) * b) >> 32);
#endif
}

// The position of the lowest bit that is 1; there must be one.
RIDGELINE_DEVICE int lowest_bit(u32 bits) {
#if RIDGELINE_ON_CARD
  return __ffs(static_cast<int>(bits)) - 1;
#else
  return __builtin_ctz(bits);
#endif
}

RIDGELINE_DEVICE constexpr i64 divided_up(i64 n, i64 by) { return (n + by - 1) / by; }

// Division of numbers below 2^31 by a divisor known before the launch: a product and a shift (Granlund and Montgomery,
// 1994).
struct Divisor {
  u32 value = 1;
  u32 magic = 1;
  u32 shift = 0;

  constexpr Divisor() = default;
#if !defined(__CUDACC_RTC__)
  explicit Divisor(i64 by) : value(static_cast<u32>(by)) {
    while ((u64{1} << shift) < value) ++shift;
    magic = static_cast<u32>((u64{1} << 32) * ((u64{1} << shift) - value) / value + 1);
  }
#endif
  RIDGELINE_DEVICE u32 quotient(u32 n) const { return (high_product(n, magic) + n) >> shift; }
  // Replaces n by its quotient; returns the remainder.
  RIDGELINE_DEVICE u32 split(u32& n) const {
    const u32 q = quotient(n);
    const u32 rest = n - q * value;
    n = q;
    return rest;
  }
};

// ---- random numbers

struct Words {
  u32 w[4];
};

// The words of elements 4*block to 4*block + 3 in step `step`: Philox4x32-10.
RIDGELINE_DEVICE Words philox(u64 key, u64 step, u64 block) {
  u32 k0 = static_cast<u32>(key), k1 = static_cast<u32>(key >> 32);
  Words c = {
      {static_cast<u32>(block), static_cast<u32>(block >> 32), static_cast<u32>(step), static_cast<u32>(step >> 32)}};
  RIDGELINE_UNROLL
  for (int round = 0; round < 10; ++round) {
    const u32 high0 = high_product(0xD2511F53u, c.w[0]), low0 = 0xD2511F53u * c.w[0];
    const u32 high1 = high_product(0xCD9E8D57u, c.w[2]), low1 = 0xCD9E8D57u * c.w[2];
    c = {{high1 ^ c.w[1] ^ k0, low1, high0 ^ c.w[3] ^ k1, low0}};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

// [0, 1) with 24 bits.
RIDGELINE_DEVICE float uniform_of(u32 word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

}  // namespace ridgeline::cuda
