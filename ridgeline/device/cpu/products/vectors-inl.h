// ridgeline/device/cpu/products/vectors-inl.h
//
// What products, and transforms of their operands, share for each vector target: the register block, and loops unrolled
// at compile time.
#if defined(RIDGELINE_DEVICE_CPU_PRODUCTS_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIDGELINE_DEVICE_CPU_PRODUCTS_VECTORS_INL_H_
#undef RIDGELINE_DEVICE_CPU_PRODUCTS_VECTORS_INL_H_
#else
#define RIDGELINE_DEVICE_CPU_PRODUCTS_VECTORS_INL_H_
#endif

#include <cstdint>
#include <type_traits>
#include <utility>

#include "hwy/highway.h"

// Attributes of a lambda whose body must become part of its caller.
#undef RIDGELINE_INLINE
#define RIDGELINE_INLINE HWY_ATTR __attribute__((always_inline))

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::products::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(Tag()));

// Rows and vectors of a block of accumulators: 24 of 32 registers with AVX-512 and NEON, 12 of 16 with AVX2.
constexpr int kBlockRows = 6;
constexpr int kBlockVectors = HWY_ARCH_X86 && kLanes < 16 ? 2 : 4;
constexpr int kPanel = kBlockVectors * kLanes;

// Calls f(0), ..., f(N - 1) with constant arguments.
template <int N, class F>
HWY_INLINE void unroll(const F& f) {
  [&]<int... I>(std::integer_sequence<int, I...>)
      RIDGELINE_INLINE { (f(std::integral_constant<int, I>()), ...); }(std::make_integer_sequence<int, N>());
}

}  // namespace ridgeline::device::products::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
