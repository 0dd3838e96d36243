#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/peak.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "ridgeline/device/cpu/peak.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// 12 independent chains hide the latency of two units of four cycles. Returns the sum, so that nothing is left out.
float multiply_add_chains(long iterations, float seed) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999f);
  const auto addend = hn::Set(d, 0.001f * seed);
  auto a0 = hn::Set(d, seed), a1 = hn::Set(d, seed + 1), a2 = hn::Set(d, seed + 2), a3 = hn::Set(d, seed + 3);
  auto a4 = hn::Set(d, seed + 4), a5 = hn::Set(d, seed + 5), a6 = hn::Set(d, seed + 6), a7 = hn::Set(d, seed + 7);
  auto a8 = hn::Set(d, seed + 8), a9 = hn::Set(d, seed + 9), a10 = hn::Set(d, seed + 10), a11 = hn::Set(d, seed + 11);
  for (long i = 0; i < iterations; ++i) {
    a0 = hn::MulAdd(a0, factor, addend);
    a1 = hn::MulAdd(a1, factor, addend);
    a2 = hn::MulAdd(a2, factor, addend);
    a3 = hn::MulAdd(a3, factor, addend);
    a4 = hn::MulAdd(a4, factor, addend);
    a5 = hn::MulAdd(a5, factor, addend);
    a6 = hn::MulAdd(a6, factor, addend);
    a7 = hn::MulAdd(a7, factor, addend);
    a8 = hn::MulAdd(a8, factor, addend);
    a9 = hn::MulAdd(a9, factor, addend);
    a10 = hn::MulAdd(a10, factor, addend);
    a11 = hn::MulAdd(a11, factor, addend);
  }
  const auto sum =
      hn::Add(hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)),
              hn::Add(hn::Add(hn::Add(a4, a5), hn::Add(a6, a7)), hn::Add(hn::Add(a8, a9), hn::Add(a10, a11))));
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

long flops_of_iteration() { return 12 * 2 * static_cast<long>(hn::Lanes(hn::ScalableTag<float>())); }

}  // namespace HWY_NAMESPACE
}  // namespace ridgeline::device
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <atomic>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/isa.h"

namespace ridgeline::device {

HWY_EXPORT(multiply_add_chains);
HWY_EXPORT(flops_of_iteration);

MeasuredRate measure_f32_rate() {
  active_isa();
  constexpr long kIterations = 2'000'000;
  std::atomic<float> sink{0};
  const double flops =
      static_cast<double>(kIterations) * static_cast<double>(HWY_DYNAMIC_DISPATCH(flops_of_iteration)());
  return measure_rate(7, flops * compute_threads() / 1e9, [&](int run) {
    parallel_team([&](int thread, int) {
      sink = sink + HWY_DYNAMIC_DISPATCH(multiply_add_chains)(kIterations, 0.5f + static_cast<float>(thread + run));
    });
  });
}

}  // namespace ridgeline::device

#endif  // HWY_ONCE
