#include "ridgeline/core/dtype.h"

#include <array>
#include <cmath>
#include <string>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

struct Row {
  DType type;
  std::string_view name;
  std::size_t size;
};

constexpr std::array<Row, 9> kTypes{{{DType::f64, "f64", 8},
                                     {DType::f32, "f32", 4},
                                     {DType::bf16, "bf16", 2},
                                     {DType::f16, "f16", 2},
                                     {DType::u8, "u8", 1},
                                     {DType::i32, "i32", 4},
                                     {DType::i64, "i64", 8},
                                     {DType::boolean, "bool", 1},
                                     {DType::bytes, "bytes", 0}}};

}  // namespace

std::size_t size_of(DType type) { return kTypes[static_cast<std::size_t>(type)].size; }

std::string_view name_of(DType type) { return kTypes[static_cast<std::size_t>(type)].name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const Row& row : kTypes) {
    if (row.name == name) return row.type;
  }
  return std::nullopt;
}

DType dtype_named(std::string_view name) {
  const std::optional<DType> type = parse_dtype(name);
  if (!type) throw InternalError("no element type '" + std::string(name) + "'");
  return *type;
}

float to_float(float16 x) {
  const std::uint32_t sign = std::uint32_t{x.bits & 0x8000u} << 16;
  const std::uint32_t exponent = (x.bits >> 10) & 0x1fu;
  const std::uint32_t mantissa = x.bits & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24, exact in float
    const float value = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

float16 to_float16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {static_cast<std::uint16_t>(sign | 0x7e00u)};
  if (magnitude >= 0x477ff000u) return {static_cast<std::uint16_t>(sign | 0x7c00u)};  // rounds to >= 65520
  if (magnitude < 0x38800000u) {  // subnormal result: round |x| * 2^24 to an integer, ties to even
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p24f;
    return {static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(scaled)))};
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return {static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13))};
}

}  // namespace ridgeline
