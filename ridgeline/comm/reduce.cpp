#include "ridgeline/comm/reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "ridgeline/core/error.h"

namespace ridgeline::comm {
namespace {

// Elements at a time: some levels of them fit the first-level cache.
constexpr std::int64_t kBlock = 512;
// 65,536 ranks have 17.
constexpr std::size_t kMostLevels = 17;

template <class T>
struct Arithmetic {
  using type = T;
};
template <>
struct Arithmetic<bfloat16> {
  using type = float;
};
template <>
struct Arithmetic<float16> {
  using type = float;
};

template <class T>
typename Arithmetic<T>::type widened(T x) {
  if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>) {
    return to_float(x);
  } else {
    return x;
  }
}

template <class T>
T narrowed(typename Arithmetic<T>::type x) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    return to_bfloat16(x);
  } else if constexpr (std::is_same_v<T, float16>) {
    return to_float16(x);
  } else {
    return x;
  }
}

template <Reduction how, class A>
A combine(A a, A b) {
  if constexpr (how == Reduction::max) {
    return (a > b) | (a != a) ? a : b;  // NaN of either side stays: b is NaN, or a is; without a jump
  } else if constexpr (how == Reduction::min) {
    return (a < b) | (a != a) ? a : b;
  } else if constexpr (std::is_integral_v<A>) {
    using U = std::make_unsigned_t<A>;
    const U x = static_cast<U>(a), y = static_cast<U>(b);
    return static_cast<A>(how == Reduction::sum ? x + y : x * y);
  } else {
    return how == Reduction::prod ? a * b : a + b;
  }
}

// Sources are added like ones to a binary counter: two of a level make one of the next.
template <class T, Reduction how>
void reduce_blocks(std::span<const void* const> sources, T* result, std::int64_t count) {
  using A = typename Arithmetic<T>::type;
  const std::size_t n = sources.size();
  std::size_t levels = 1;
  while ((std::size_t{1} << levels) <= n) ++levels;
  RIDGELINE_CHECK(levels <= kMostLevels, "too many sources");
  std::array<std::array<A, kBlock>, kMostLevels> held;  // on the stack: what is not used is not touched
  std::array<A, kBlock> value;
  const auto combine_into_value = [&](const std::array<A, kBlock>& left, std::size_t size) {
    if (size == value.size()) {  // of a constant length: vectors
      for (std::size_t i = 0; i < value.size(); ++i) value[i] = combine<how>(left[i], value[i]);
      return;
    }
    for (std::size_t i = 0; i < size; ++i) value[i] = combine<how>(left[i], value[i]);
  };
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const auto size = static_cast<std::size_t>(std::min(kBlock, count - begin));
    for (std::size_t s = 0; s < n; ++s) {
      const T* source = static_cast<const T*>(sources[s]) + begin;
      for (std::size_t i = 0; i < size; ++i) value[i] = widened(source[i]);
      std::size_t level = 0;
      for (std::size_t bits = s; (bits & 1) != 0; bits >>= 1) combine_into_value(held[level++], size);
      std::copy_n(value.begin(), size, held[level].begin());
    }
    // What is held are the one bits of n; the smallest sums are the rightmost.
    bool first = true;
    for (std::size_t level = 0; level < levels; ++level) {
      if (((n >> level) & 1) == 0) continue;
      if (first) {
        std::copy_n(held[level].begin(), size, value.begin());
      } else {
        combine_into_value(held[level], size);
      }
      first = false;
    }
    if constexpr (how == Reduction::mean) {
      const A share = A{1} / static_cast<A>(n);
      for (std::size_t i = 0; i < size; ++i) value[i] *= share;
    }
    for (std::size_t i = 0; i < size; ++i) result[begin + static_cast<std::int64_t>(i)] = narrowed<T>(value[i]);
  }
}

// Two ranks on f32, the common case: one pass, nothing held. The compiler vectorises runs of a constant length in local
// arrays.
template <Reduction how>
void reduce_two(const float* a, const float* b, float* result, std::int64_t count) {
  constexpr std::int64_t kRun = 16;
  constexpr float kShare = how == Reduction::mean ? 0.5f : 1.0f;  // a factor of 1 is left out by the compiler
  std::int64_t i = 0;
  for (; i + kRun <= count; i += kRun) {
    std::array<float, kRun> x, y;
    std::memcpy(x.data(), a + i, sizeof x);
    std::memcpy(y.data(), b + i, sizeof y);
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = combine<how>(x[k], y[k]) * kShare;
    std::memcpy(result + i, x.data(), sizeof x);
  }
  for (; i < count; ++i) result[i] = combine<how>(a[i], b[i]) * kShare;
}

template <class T, Reduction how>
void reduce_type(std::span<const void* const> sources, void* result, std::int64_t count) {
  if constexpr (std::is_same_v<T, float>) {
    if (sources.size() == 2)
      return reduce_two<how>(static_cast<const float*>(sources[0]), static_cast<const float*>(sources[1]),
                             static_cast<float*>(result), count);
  }
  reduce_blocks<T, how>(sources, static_cast<T*>(result), count);
}

template <class T>
void reduce_as(std::span<const void* const> sources, void* result, std::int64_t count, Reduction how) {
  switch (how) {
    case Reduction::sum: return reduce_type<T, Reduction::sum>(sources, result, count);
    case Reduction::prod: return reduce_type<T, Reduction::prod>(sources, result, count);
    case Reduction::max: return reduce_type<T, Reduction::max>(sources, result, count);
    case Reduction::min: return reduce_type<T, Reduction::min>(sources, result, count);
    case Reduction::mean:
      if constexpr (!std::is_integral_v<T>) reduce_type<T, Reduction::mean>(sources, result, count);
  }
}

}  // namespace

void check_reduction(DType type, Reduction how) {
  const int number = static_cast<int>(how);
  if (number < 0 || number > static_cast<int>(Reduction::mean))
    throw Error(fmt::format("[ranks] there is no reduction {} (sum, prod, max, min, mean)", number), ErrorKind::usage);
  if (type == DType::u8 && how != Reduction::max && how != Reduction::min)
    throw Error("[ranks] u8 is not reduced by sum, prod or mean (allowed: max, min)", ErrorKind::usage);
  if (how == Reduction::mean && (type == DType::i32 || type == DType::i64))
    throw Error(fmt::format("[ranks] {} has no mean (allowed: sum, prod, max, min)", name_of(type)), ErrorKind::usage);
  if (type == DType::u8) return;
  if (!is_floating(type) && type != DType::i32 && type != DType::i64)
    throw Error(fmt::format("[ranks] {} is not reduced (allowed: f64, f32, bf16, f16, i32, i64, u8)", name_of(type)),
                ErrorKind::usage);
}

void reduce_in_pairs(std::span<const void* const> sources, void* result, std::int64_t count, DType type,
                     Reduction how) {
  switch (type) {
    case DType::f64: return reduce_as<double>(sources, result, count, how);
    case DType::f32: return reduce_as<float>(sources, result, count, how);
    case DType::bf16: return reduce_as<bfloat16>(sources, result, count, how);
    case DType::f16: return reduce_as<float16>(sources, result, count, how);
    case DType::i32: return reduce_as<std::int32_t>(sources, result, count, how);
    case DType::i64: return reduce_as<std::int64_t>(sources, result, count, how);
    case DType::u8: return reduce_as<std::uint8_t>(sources, result, count, how);
    default: check_reduction(type, how);
  }
}

}  // namespace ridgeline::comm
