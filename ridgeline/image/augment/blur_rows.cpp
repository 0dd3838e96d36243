#include "ridgeline/image/augment/blur_rows.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/image/augment/blur_rows.cpp"
#include "ridgeline/image/long_vectors.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ridgeline/image/geometry.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Four sums at a time, since each addition waits for the one before.
template <class At, class Take>
HWY_INLINE std::size_t sums(const float* HWY_RESTRICT weight, std::size_t weights, std::size_t n, At at, Take take) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (std::size_t k = 0; k < weights; ++k) {
      const auto w = hn::Set(d, weight[k]);
      const float* HWY_RESTRICT from = at(k) + i;
      s0 = hn::Add(s0, hn::Mul(w, hn::LoadU(d, from)));
      s1 = hn::Add(s1, hn::Mul(w, hn::LoadU(d, from + lanes)));
      s2 = hn::Add(s2, hn::Mul(w, hn::LoadU(d, from + 2 * lanes)));
      s3 = hn::Add(s3, hn::Mul(w, hn::LoadU(d, from + 3 * lanes)));
    }
    take(i, s0);
    take(i + lanes, s1);
    take(i + 2 * lanes, s2);
    take(i + 3 * lanes, s3);
  }
  for (; i + lanes <= n; i += lanes) {
    auto sum = hn::Zero(d);
    for (std::size_t k = 0; k < weights; ++k)
      sum = hn::Add(sum, hn::Mul(hn::Set(d, weight[k]), hn::LoadU(d, at(k) + i)));
    take(i, sum);
  }
  return i;
}

void widen(const std::uint8_t* in, std::size_t n, float* out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::uint8_t, decltype(d)> du8;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(du8, in + i))), d, out + i);
  for (; i < n; ++i) out[i] = in[i];
}

void across(std::span<const float> weight, const float* in, std::size_t step, std::size_t n, float* out) {
  const hn::ScalableTag<float> d;
  std::size_t i = sums(
      weight.data(), weight.size(), n, [&](std::size_t k) { return in + k * step; },
      [&](std::size_t at, auto sum) HWY_ATTR { hn::StoreU(sum, d, out + at); });
  for (; i < n; ++i) {
    float sum = 0;
    for (std::size_t k = 0; k < weight.size(); ++k) sum += weight[k] * in[i + k * step];
    out[i] = sum;
  }
}

void down(std::span<const float> weight, const float* const* rows, std::size_t n, std::uint8_t* out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::uint8_t, decltype(d)> du8;
  std::size_t i = sums(
      weight.data(), weight.size(), n, [&](std::size_t k) { return rows[k]; },
      [&](std::size_t at, auto sum) HWY_ATTR {
        const auto whole = hn::ConvertTo(di, hn::Round(hn::Min(sum, hn::Set(d, 255.0f))));
        hn::StoreU(hn::DemoteTo(du8, whole), du8, out + at);
      });
  for (; i < n; ++i) {
    float sum = 0;
    for (std::size_t k = 0; k < weight.size(); ++k) sum += weight[k] * rows[k][i];
    out[i] = static_cast<std::uint8_t>(round_half_even(std::min(static_cast<double>(sum), 255.0)));
  }
}

}  // namespace ridgeline::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::image {

HWY_EXPORT(widen);
HWY_EXPORT(across);
HWY_EXPORT(down);

void blur_widen(const std::uint8_t* in, std::size_t n, float* out) { HWY_DYNAMIC_DISPATCH(widen)(in, n, out); }

void blur_across(std::span<const float> weight, const float* in, std::size_t step, std::size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(across)(weight, in, step, n, out);
}

void blur_down(std::span<const float> weight, const float* const* rows, std::size_t n, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(down)(weight, rows, n, out);
}

}  // namespace ridgeline::image
#endif  // HWY_ONCE
