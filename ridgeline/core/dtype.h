// ridgeline/core/dtype.h
//
// Element types of tensors and columns, and the two 16-bit floating-point formats as storage types.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ridgeline {

// `bytes` is a column of encoded byte strings (JPEG files before decoding); its elements have no fixed size.
enum class DType : std::uint8_t { f64, f32, bf16, f16, u8, i32, i64, boolean, bytes };

// Storage of a bfloat16: the upper half of a float. Arithmetic is done in float.
struct bfloat16 {
  std::uint16_t bits = 0;
  friend bool operator==(bfloat16, bfloat16) = default;
};

// Storage of an IEEE binary16. Arithmetic is done in float.
struct float16 {
  std::uint16_t bits = 0;
  friend bool operator==(float16, float16) = default;
};

inline float to_float(bfloat16 x) { return std::bit_cast<float>(std::uint32_t{x.bits} << 16); }

// Rounds to nearest, ties to even; NaN stays NaN (quiet).
inline bfloat16 to_bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

float to_float(float16 x);
// Rounds to nearest, ties to even; overflow gives infinity.
float16 to_float16(float x);

// Bytes of one element. Zero for DType::bytes.
std::size_t size_of(DType type);
// "f32", "bool", "bytes", ...
std::string_view name_of(DType type);
// The inverse of name_of; nullopt for an unknown name.
std::optional<DType> parse_dtype(std::string_view name);
// For names that have been checked; an InternalError for an unknown one.
DType dtype_named(std::string_view name);
inline bool is_floating(DType t) { return t == DType::f64 || t == DType::f32 || t == DType::bf16 || t == DType::f16; }

template <class T>
struct dtype_traits;
// clang-format off
template <> struct dtype_traits<double> { static constexpr DType value = DType::f64; };
template <> struct dtype_traits<float> { static constexpr DType value = DType::f32; };
template <> struct dtype_traits<bfloat16> { static constexpr DType value = DType::bf16; };
template <> struct dtype_traits<float16> { static constexpr DType value = DType::f16; };
template <> struct dtype_traits<std::uint8_t> { static constexpr DType value = DType::u8; };
template <> struct dtype_traits<std::int32_t> { static constexpr DType value = DType::i32; };
template <> struct dtype_traits<std::int64_t> { static constexpr DType value = DType::i64; };
template <> struct dtype_traits<bool> { static constexpr DType value = DType::boolean; };
// clang-format on
template <class T>
inline constexpr DType dtype_of = dtype_traits<T>::value;

}  // namespace ridgeline
