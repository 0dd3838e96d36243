// ridgeline/device/cpu/virtual_lanes-inl.h
//
// Sums over contiguous floats in 64 virtual lanes, whatever the length of the machine's vectors, joined by a fixed
// tree: the same bits on every machine. Included once for each vector target.
#if defined(RIDGELINE_DEVICE_CPU_VIRTUAL_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIDGELINE_DEVICE_CPU_VIRTUAL_LANES_INL_H_
#undef RIDGELINE_DEVICE_CPU_VIRTUAL_LANES_INL_H_
#else
#define RIDGELINE_DEVICE_CPU_VIRTUAL_LANES_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The sum of f(x[i]), blocks of 1,024 elements in f32 and then in double: the error stays near 16 roundings of f32
// whatever the length. add(sum, v) is sum + f(v) on vectors, one(v) is f(v) in double. kAhead: how many elements ahead
// memory is prefetched; none for a piece that is not followed by its neighbour.
template <std::int64_t kAhead = 768, class Add, class One>
HWY_INLINE double sum_in_virtual_lanes(const float* HWY_RESTRICT x, std::int64_t n, const Add& add, const One& one) {
  constexpr std::int64_t kBlock = 1024;
  constexpr std::int64_t kLanes = 64;
  constexpr int kVectors = static_cast<int>(kLanes / HWY_LANES(float));
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  HWY_ALIGN float parts[HWY_LANES(float)];
  double total = 0;
  for (std::int64_t block = 0; block < n; block += kBlock) {
    const std::int64_t last = std::min(n, block + kBlock);
    hn::Vec<decltype(d)> sums[kVectors];
    for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
    std::int64_t i = block;
    for (; i + kLanes <= last; i += kLanes) {
      for (int v = 0; v < kVectors; ++v) {
        if constexpr (kAhead > 0) hwy::Prefetch(x + i + kAhead + v * lanes);
        sums[v] = add(sums[v], hn::LoadU(d, x + i + v * lanes));
      }
    }
    double rest = 0;
    for (; i < last; ++i) rest += one(x[i]);
    // Element k takes element k + width, for half the width each time: whole vectors, then within one.
    for (int half = kVectors / 2; half > 0; half /= 2) {
      for (int v = 0; v < half; ++v) sums[v] = hn::Add(sums[v], sums[v + half]);
    }
    hn::Store(sums[0], d, parts);
    for (std::int64_t width = lanes / 2; width > 0; width /= 2) {
      for (std::int64_t k = 0; k < width; ++k) parts[k] += parts[k + width];
    }
    total += static_cast<double>(parts[0]) + rest;
  }
  return total;
}

// The sum in double, in eight interleaved chains.
HWY_INLINE double sum_in_double(const float* HWY_RESTRICT x, std::int64_t n) {
  double sums[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int k = 0; k < 8; ++k) sums[k] += static_cast<double>(x[i + k]);
  }
  for (int k = 0; i < n; ++i, ++k) sums[k] += static_cast<double>(x[i]);
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
