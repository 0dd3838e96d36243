// ridgeline/device/cpu/for_lanes-inl.h
//
// Loops over contiguous values in whole vectors, then in single lanes, with one body for both. Included once for each
// vector target (see Highway's documentation of -inl.h files).
#if defined(RIDGELINE_DEVICE_CPU_FOR_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIDGELINE_DEVICE_CPU_FOR_LANES_INL_H_
#undef RIDGELINE_DEVICE_CPU_FOR_LANES_INL_H_
#else
#define RIDGELINE_DEVICE_CPU_FOR_LANES_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls body(d, i) for each vector of Value at element i.
template <class Value = float, class Body>
HWY_INLINE void for_lanes(std::int64_t n, const Body& body) {
  const hn::ScalableTag<Value> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) body(d, i);
  const hn::CappedTag<Value, 1> one;
  for (; i < n; ++i) body(one, i);
}

// Calls body(d, i, count) for `count` (a constant, 4 or 1) vectors at element i: four at a time share the cost of loops
// inside the body and hide the latency of one vector's dependency chain.
template <class Body>
HWY_INLINE void for_four_lanes(std::int64_t n, const Body& body) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) body(d, i, std::integral_constant<int, 4>());
  for (; i + lanes <= n; i += lanes) body(d, i, std::integral_constant<int, 1>());
  const hn::CappedTag<float, 1> one;
  for (; i < n; ++i) body(one, i, std::integral_constant<int, 1>());
}

}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
