#include "ridgeline/core/math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ridgeline/core/random.h"

namespace ridgeline {
namespace {

constexpr double kInfinityF64 = std::numeric_limits<double>::infinity();

// The distance of `actual` from the C library's result with a 64-bit mantissa, in units in the last place of a double.
double ulps(double actual, long double exact) {
  const auto rounded = static_cast<double>(exact);
  if (std::isnan(actual) || std::isinf(actual) || std::isinf(rounded)) return actual == rounded ? 0.0 : kInfinityF64;
  const double magnitude = std::max(std::abs(rounded), std::numeric_limits<double>::min());
  const double unit = std::nextafter(magnitude, kInfinityF64) - magnitude;
  return static_cast<double>(std::abs(static_cast<long double>(actual) - exact) / unit);
}

TEST(PortableExp, IsWithinTwoUlpOverItsRange) {
  SampleRandom random({1, 1}, 0, 0);
  double worst = 0;
  for (int i = 0; i < 300000; ++i) {
    const double x = i % 3 == 0   ? random.uniform(-745.5, 710.0)
                     : i % 3 == 1 ? random.uniform(-2.0, 2.0)
                                  : std::ldexp(random.uniform(-1.0, 1.0), -static_cast<int>(random.integer(0, 60)));
    worst = std::max(worst, ulps(portable_exp(x), std::exp(static_cast<long double>(x))));
  }
  EXPECT_LT(worst, 2.0);
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST(PortableExp, EndsWhereItsTypeEnds) {
  EXPECT_EQ(portable_exp(0.0), 1.0);
  EXPECT_EQ(portable_exp(-0.0), 1.0);
  EXPECT_EQ(portable_exp(kInfinityF64), kInfinityF64);
  EXPECT_EQ(portable_exp(-kInfinityF64), 0.0);
  EXPECT_EQ(portable_exp(1000.0), kInfinityF64);
  EXPECT_EQ(portable_exp(-1000.0), 0.0);
  EXPECT_TRUE(std::isnan(portable_exp(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_LT(portable_exp(709.782712893384), kInfinityF64);
  EXPECT_GT(portable_exp(-745.13321910194110), 0.0);
  for (double x : {709.78, -708.4, -744.5}) {
    EXPECT_LT(ulps(portable_exp(x), std::exp(static_cast<long double>(x))), 2.0) << x;
  }
}

TEST(PortableLog, IsWithinTwoUlpOverItsRange) {
  SampleRandom random({2, 1}, 0, 0);
  double worst = 0;
  for (int i = 0; i < 300000; ++i) {
    double x = 0;
    if (i % 3 == 0) {  // any positive bit pattern, also subnormal
      const std::uint64_t bits = (std::uint64_t{random.bits()} << 32) | random.bits();
      x = std::abs(std::bit_cast<double>(bits));
      if (!std::isfinite(x) || x == 0.0) continue;
    } else {
      x = i % 3 == 1 ? random.uniform(0.5, 2.0)
                     : 1.0 + std::ldexp(random.uniform(-1.0, 1.0), -static_cast<int>(random.integer(1, 52)));
    }
    worst = std::max(worst, ulps(portable_log(x), std::log(static_cast<long double>(x))));
  }
  EXPECT_LT(worst, 2.0);
  RecordProperty("worst_ulp", std::to_string(worst));
}

TEST(PortableLog, HandlesTheEdges) {
  EXPECT_EQ(portable_log(1.0), 0.0);
  EXPECT_EQ(portable_log(0.0), -kInfinityF64);
  EXPECT_EQ(portable_log(-0.0), -kInfinityF64);
  EXPECT_EQ(portable_log(kInfinityF64), kInfinityF64);
  EXPECT_TRUE(std::isnan(portable_log(-1.0)));
  EXPECT_TRUE(std::isnan(portable_log(-kInfinityF64)));
  EXPECT_TRUE(std::isnan(portable_log(std::numeric_limits<double>::quiet_NaN())));
  for (double x : {std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::min(),
                   std::numeric_limits<double>::max(), 1.4142135623730951, 0.7071067811865476}) {
    EXPECT_LT(ulps(portable_log(x), std::log(static_cast<long double>(x))), 2.0) << x;
  }
}

TEST(PortableSinAndCos, AreWithinTwoUlpUpToAMillion) {
  SampleRandom random({3, 1}, 0, 0);
  double worst_sin = 0;
  double worst_cos = 0;
  for (int i = 0; i < 300000; ++i) {
    const double x = i % 3 == 0   ? random.uniform(-7.0, 7.0)
                     : i % 3 == 1 ? random.uniform(-1e6, 1e6)
                                  : std::ldexp(random.uniform(-1.0, 1.0), -static_cast<int>(random.integer(0, 40)));
    worst_sin = std::max(worst_sin, ulps(portable_sin(x), std::sin(static_cast<long double>(x))));
    worst_cos = std::max(worst_cos, ulps(portable_cos(x), std::cos(static_cast<long double>(x))));
  }
  EXPECT_LT(worst_sin, 2.0);
  EXPECT_LT(worst_cos, 2.0);
  RecordProperty("worst_ulp_sin", std::to_string(worst_sin));
  RecordProperty("worst_ulp_cos", std::to_string(worst_cos));
}

// Near a multiple of pi/2 one of the two is tiny and consists only of the low parts of the reduction.
TEST(PortableSinAndCos, HoldNextToMultiplesOfHalfPi) {
  SampleRandom random({4, 1}, 0, 0);
  for (int i = 0; i < 20000; ++i) {
    const auto n = static_cast<double>(i < 2000 ? i - 1000 : random.integer(-636000, 636000));
    const double x = n * 1.5707963267948966;
    ASSERT_LT(ulps(portable_sin(x), std::sin(static_cast<long double>(x))), 2.0) << x;
    ASSERT_LT(ulps(portable_cos(x), std::cos(static_cast<long double>(x))), 2.0) << x;
  }
}

TEST(PortableSinAndCos, HandleTheEdges) {
  EXPECT_EQ(portable_sin(0.0), 0.0);
  EXPECT_TRUE(std::signbit(portable_sin(-0.0)));
  EXPECT_EQ(portable_cos(0.0), 1.0);
  for (double x : {kInfinityF64, -kInfinityF64, std::numeric_limits<double>::quiet_NaN(), 1.0000001e6, -1e300}) {
    EXPECT_TRUE(std::isnan(portable_sin(x))) << x;
    EXPECT_TRUE(std::isnan(portable_cos(x))) << x;
  }
  EXPECT_FALSE(std::isnan(portable_sin(1e6)));
}

// The bits are part of every run's result. A compiler, a flag (-ffast-math, contraction) or a code change that alters
// them fails here. The digest was recorded from this code; the tests above check its accuracy.
TEST(PortableMath, NeverChangesABit) {
  SampleRandom random({5, 1}, 0, 0);
  std::uint64_t digest = 0;
  for (int i = 0; i < 1000; ++i) {
    const double x = random.uniform(-50.0, 50.0);
    for (double y : {portable_exp(x), portable_log(std::abs(x)), portable_sin(x), portable_cos(x)}) {
      const auto bits = std::bit_cast<std::uint64_t>(y);
      digest = hash64({reinterpret_cast<const char*>(&bits), sizeof(bits)}, digest);
    }
  }
  EXPECT_EQ(digest, 13969428507203532509ull);
  EXPECT_EQ(portable_exp(1.0), 0x1.5bf0a8b14576ap+1);
  EXPECT_EQ(portable_log(10.0), 0x1.26bb1bbb55516p+1);
  EXPECT_EQ(portable_sin(1.0), 0x1.aed548f090ceep-1);
  EXPECT_EQ(portable_cos(1.0), 0x1.14a280fb5068cp-1);
}

TEST(PlainNan, HasNoSignAndLeavesNumbersAsTheyAre) {
  EXPECT_FALSE(std::signbit(plain_nan(-std::numeric_limits<double>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(plain_nan(-std::numeric_limits<double>::quiet_NaN())));
  for (const double x : {-kInfinityF64, -1.5, -0.0, 0.0, 2.0})
    EXPECT_EQ(std::bit_cast<std::uint64_t>(plain_nan(x)), std::bit_cast<std::uint64_t>(x));
}

}  // namespace
}  // namespace ridgeline
