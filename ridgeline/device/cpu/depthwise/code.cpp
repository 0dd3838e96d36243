#include "ridgeline/device/cpu/depthwise/code.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/depthwise/code.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ridgeline/device/cpu/for_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::depthwise::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace lanes = ridgeline::device::HWY_NAMESPACE;

// Loops over sums are unrolled by pragmas: -O2 would leave the sums in memory.

// Positions of which every tap meets the image: [first, last).
struct Inside {
  std::int64_t first = 0, last = 0;
};

HWY_INLINE Inside inside_of(const Line& line) {
  Inside inside{0, line.positions};
  for (std::int64_t t = 0; t < line.tap_count; ++t) {
    const std::int64_t shift = line.taps[static_cast<std::size_t>(t)].shift, room = line.length - shift;
    if (shift < 0) inside.first = std::max(inside.first, (-shift + line.step - 1) / line.step);
    inside.last = std::min(inside.last, room <= 0 ? 0 : (room + line.step - 1) / line.step);
  }
  inside.first = std::min(inside.first, line.positions);
  inside.last = std::max(inside.last, inside.first);
  return inside;
}

HWY_INLINE bool meets(const Line& line, std::int64_t pixel) { return pixel >= 0 && pixel < line.length; }

template <class D>
HWY_INLINE void finish(D d, const LineResults& results, std::int64_t at, std::int64_t channel, hn::Vec<D> sum) {
  if (results.bias != nullptr) sum = hn::Add(sum, hn::LoadU(d, results.bias + channel));
  if (results.addend != nullptr) sum = hn::Add(sum, hn::LoadU(d, results.addend + at));
  if (results.relu) sum = hn::IfThenZeroElse(hn::Le(sum, hn::Zero(d)), sum);  // NaN stays, -0 does not
  hn::StoreU(sum, d, results.to + at);
}

// Results at `kCount` neighbouring positions, all within.
template <int kCount, class D>
HWY_INLINE void results_within(D d, const Line& line, const LineResults& results, std::int64_t position,
                               std::int64_t channel) {
  const std::int64_t next = line.step * line.image_channels;
  hn::Vec<D> sums[kCount];
#pragma GCC unroll 9
  for (int p = 0; p < kCount; ++p) sums[p] = hn::Zero(d);
  for (std::int64_t t = 0; t < line.tap_count; ++t) {
    const Tap& tap = line.taps[static_cast<std::size_t>(t)];
    const auto weight = hn::LoadU(d, results.weights + tap.number * results.weight_channels + channel);
    const float* const x = tap.line + (position * line.step + tap.shift) * line.image_channels + channel;
#pragma GCC unroll 9
    for (int p = 0; p < kCount; ++p) sums[p] = hn::MulAdd(weight, hn::LoadU(d, x + p * next), sums[p]);
  }
#pragma GCC unroll 9
  for (int p = 0; p < kCount; ++p) finish(d, results, (position + p) * results.step + channel, channel, sums[p]);
}

// The result at a position some of whose taps may lie outside; kCount vectors of channels.
template <int kCount, class D>
HWY_INLINE void result_at_border(D d, const Line& line, const LineResults& results, std::int64_t position,
                                 std::int64_t channel) {
  const auto n = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<D> sums[kCount];
#pragma GCC unroll 9
  for (int k = 0; k < kCount; ++k) sums[k] = hn::Zero(d);
  for (std::int64_t t = 0; t < line.tap_count; ++t) {
    const Tap& tap = line.taps[static_cast<std::size_t>(t)];
    const std::int64_t pixel = position * line.step + tap.shift;
    if (!meets(line, pixel)) continue;
    const float* const weight = results.weights + tap.number * results.weight_channels + channel;
    const float* const x = tap.line + pixel * line.image_channels + channel;
#pragma GCC unroll 9
    for (int k = 0; k < kCount; ++k)
      sums[k] = hn::MulAdd(hn::LoadU(d, weight + k * n), hn::LoadU(d, x + k * n), sums[k]);
  }
#pragma GCC unroll 9
  for (int k = 0; k < kCount; ++k)
    finish(d, results, position * results.step + channel + k * n, channel + k * n, sums[k]);
}

void line_code(const Line& line, const LineResults& results) {
  constexpr int kPositions = 8;
  const Inside inside = inside_of(line);
  lanes::for_four_lanes(line.channels, [&](auto d, std::int64_t channel, auto count) HWY_ATTR {
    constexpr int kCount = decltype(count)::value;
    for (std::int64_t q = 0; q < inside.first; ++q) result_at_border<kCount>(d, line, results, q, channel);
    for (std::int64_t q = inside.last; q < line.positions; ++q) result_at_border<kCount>(d, line, results, q, channel);
  });
  if (inside.first == inside.last) return;
  lanes::for_lanes(line.channels, [&](auto d, std::int64_t channel) HWY_ATTR {
    std::int64_t q = inside.first;
    for (; q + kPositions <= inside.last; q += kPositions) results_within<kPositions>(d, line, results, q, channel);
    for (; q < inside.last; ++q) results_within<1>(d, line, results, q, channel);
  });
}

// The sums of `kTaps` taps from number `first` of the line on.
template <int kTaps, class D>
HWY_INLINE void add_taps(D d, const Line& line, const LineSums& sums, const Inside& inside, std::int64_t first,
                         std::int64_t channel) {
  const Tap* const taps = line.taps.data() + first;
  const std::int64_t next = line.step * line.image_channels;
  hn::Vec<D> sum[kTaps];
#pragma GCC unroll 9
  for (int t = 0; t < kTaps; ++t) sum[t] = hn::Zero(d);
  const auto border = [&](std::int64_t q) HWY_ATTR {
    const auto dy = hn::LoadU(d, sums.dy + q * sums.dy_step + channel);
#pragma GCC unroll 9
    for (int t = 0; t < kTaps; ++t) {
      const std::int64_t pixel = q * line.step + taps[t].shift;
      if (!meets(line, pixel)) continue;
      sum[t] = hn::MulAdd(dy, hn::LoadU(d, taps[t].line + pixel * line.image_channels + channel), sum[t]);
    }
  };
  for (std::int64_t q = 0; q < inside.first; ++q) border(q);
  const float* x[kTaps];
#pragma GCC unroll 9
  for (int t = 0; t < kTaps; ++t)
    x[t] = taps[t].line + (inside.first * line.step + taps[t].shift) * line.image_channels + channel;
  for (std::int64_t q = inside.first, at = 0; q < inside.last; ++q, at += next) {
    const auto dy = hn::LoadU(d, sums.dy + q * sums.dy_step + channel);
#pragma GCC unroll 9
    for (int t = 0; t < kTaps; ++t) sum[t] = hn::MulAdd(dy, hn::LoadU(d, x[t] + at), sum[t]);
  }
  for (std::int64_t q = inside.last; q < line.positions; ++q) border(q);
#pragma GCC unroll 9
  for (int t = 0; t < kTaps; ++t) {
    float* const to = sums.sums + taps[t].number * line.channels + channel;
    hn::StoreU(hn::Add(hn::LoadU(d, to), sum[t]), d, to);
  }
}

void sums_code(const Line& line, const LineSums& sums) {
  constexpr int kTaps = 9;  // a dy that is read once for as many chains of sums as registers hold
  const Inside inside = inside_of(line);
  lanes::for_lanes(line.channels, [&](auto d, std::int64_t channel) HWY_ATTR {
    std::int64_t t = 0;
    for (; t + kTaps <= line.tap_count; t += kTaps) add_taps<kTaps>(d, line, sums, inside, t, channel);
    for (; t + 3 <= line.tap_count; t += 3) add_taps<3>(d, line, sums, inside, t, channel);
    for (; t < line.tap_count; ++t) add_taps<1>(d, line, sums, inside, t, channel);
  });
}

}  // namespace ridgeline::device::depthwise::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device::depthwise {

HWY_EXPORT(line_code);
HWY_EXPORT(sums_code);

void run_line(const Line& line, const LineResults& results) { HWY_DYNAMIC_DISPATCH(line_code)(line, results); }

void add_line(const Line& line, const LineSums& sums) { HWY_DYNAMIC_DISPATCH(sums_code)(line, sums); }

}  // namespace ridgeline::device::depthwise
#endif  // HWY_ONCE
