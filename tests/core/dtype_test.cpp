#include "ridgeline/core/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ridgeline/core/random.h"

namespace ridgeline {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(DType, NamesParseBack) {
  for (DType type : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::u8, DType::i32, DType::i64, DType::boolean,
                     DType::bytes}) {
    EXPECT_EQ(parse_dtype(name_of(type)), type) << name_of(type);
  }
  EXPECT_EQ(name_of(DType::boolean), "bool");
  EXPECT_EQ(parse_dtype("float"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
}

TEST(DType, SizesAreThoseOfTheCppTypes) {
  EXPECT_EQ(size_of(dtype_of<double>), sizeof(double));
  EXPECT_EQ(size_of(dtype_of<float>), sizeof(float));
  EXPECT_EQ(size_of(dtype_of<bfloat16>), sizeof(bfloat16));
  EXPECT_EQ(size_of(dtype_of<float16>), sizeof(float16));
  EXPECT_EQ(size_of(dtype_of<std::uint8_t>), 1u);
  EXPECT_EQ(size_of(dtype_of<std::int32_t>), 4u);
  EXPECT_EQ(size_of(dtype_of<std::int64_t>), 8u);
  EXPECT_EQ(size_of(dtype_of<bool>), sizeof(bool));
  EXPECT_EQ(size_of(DType::bytes), 0u);
}

// The value of a binary16 bit pattern by its definition, in double.
double half_value(std::uint32_t bits) {
  const double sign = bits & 0x8000u ? -1.0 : 1.0;
  const int exponent = static_cast<int>((bits >> 10) & 31u);
  const double mantissa = bits & 0x3ffu;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024.0 + mantissa, exponent - 25));
}

TEST(Float16, EveryPatternHasItsValueAndComesBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float16 half{static_cast<std::uint16_t>(bits)};
    const float value = to_float(half);
    if ((bits & 0x7c00u) == 0x7c00u) {
      if (bits & 0x3ffu) {
        EXPECT_TRUE(std::isnan(value)) << bits;
        EXPECT_TRUE(std::isnan(to_float(to_float16(value)))) << bits;
      } else {
        EXPECT_EQ(value, bits & 0x8000u ? -kInfinity : kInfinity);
        EXPECT_EQ(to_float16(value), half);
      }
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), half_value(bits)) << bits;
    ASSERT_EQ(std::signbit(value), (bits & 0x8000u) != 0) << bits;
    ASSERT_EQ(to_float16(value), half) << bits;
  }
}

// Between two neighbouring halves: below the midpoint rounds down, above rounds up, the midpoint to even.
TEST(Float16, RoundsToNearestAndTiesToEvenEverywhere) {
  for (std::uint32_t bits = 0; bits < 0x7c00u; ++bits) {
    const double low = half_value(bits);
    const double high =
        bits == 0x7bffu ? 65536.0 : half_value(bits + 1);  // the next value if the type had more exponents
    const auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(static_cast<double>(middle), (low + high) / 2);
    const std::uint32_t even = bits & 1u ? bits + 1 : bits;
    ASSERT_EQ(to_float16(middle).bits, even) << bits;
    ASSERT_EQ(to_float16(std::nextafter(middle, 0.0f)).bits, bits) << bits;
    ASSERT_EQ(to_float16(std::nextafter(middle, kInfinity)).bits, bits + 1) << bits;
    ASSERT_EQ(to_float16(-middle).bits, even | 0x8000u) << bits;
  }
}

TEST(Float16, OverflowsToInfinityAndUnderflowsToZero) {
  EXPECT_EQ(to_float16(1e30f).bits, 0x7c00u);
  EXPECT_EQ(to_float16(-1e30f).bits, 0xfc00u);
  EXPECT_EQ(to_float16(65519.996f).bits, 0x7bffu);
  EXPECT_EQ(to_float16(65520.0f).bits, 0x7c00u);
  EXPECT_EQ(to_float16(1e-30f).bits, 0u);
  EXPECT_EQ(to_float16(-1e-30f).bits, 0x8000u);
  EXPECT_EQ(to_float16(std::numeric_limits<float>::denorm_min()).bits, 0u);
}

TEST(Bfloat16, EveryPatternComesBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const bfloat16 x{static_cast<std::uint16_t>(bits)};
    const float value = to_float(x);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(value), bits << 16);
    if (std::isnan(value)) {
      ASSERT_EQ(to_bfloat16(value).bits, bits | 0x40u);  // quiet, otherwise unchanged
    } else {
      ASSERT_EQ(to_bfloat16(value), x);
    }
  }
}

TEST(Bfloat16, RoundsToNearestAndTiesToEvenEverywhere) {
  for (std::uint32_t bits = 0; bits < 0x7f80u; ++bits) {
    const std::uint32_t middle = (bits << 16) | 0x8000u;
    const std::uint32_t even = bits & 1u ? bits + 1 : bits;
    ASSERT_EQ(to_bfloat16(std::bit_cast<float>(middle)).bits, even) << bits;
    ASSERT_EQ(to_bfloat16(std::bit_cast<float>(middle - 1)).bits, bits) << bits;
    ASSERT_EQ(to_bfloat16(std::bit_cast<float>(middle + 1)).bits, bits + 1) << bits;
    ASSERT_EQ(to_bfloat16(std::bit_cast<float>(middle | 0x80000000u)).bits, even | 0x8000u) << bits;
  }
}

TEST(Bfloat16, KeepsNansThatRoundingWouldCarryAway) {
  for (std::uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xff800001u, 0xffffffffu}) {
    EXPECT_TRUE(std::isnan(to_float(to_bfloat16(std::bit_cast<float>(bits))))) << bits;
  }
}

}  // namespace
}  // namespace ridgeline
