#include "ridgeline/image/resample/opencv_passes.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/image/resample/opencv_passes.cpp"
#include "ridgeline/image/long_vectors.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ridgeline::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::ScalableTag<std::int32_t>;
using D8 = hn::Rebind<std::uint8_t, D32>;
using V32 = hn::Vec<D32>;

void linear_down(const std::int32_t* const* rows, const std::int32_t* weight, std::size_t n, std::uint8_t* out) {
  const D32 d;
  const V32 w0 = hn::Set(d, weight[0]), w1 = hn::Set(d, weight[1]), two = hn::Set(d, 2);
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const V32 above = hn::ShiftRight<16>(hn::Mul(w0, hn::ShiftRight<4>(hn::LoadU(d, rows[0] + i))));
    const V32 below = hn::ShiftRight<16>(hn::Mul(w1, hn::ShiftRight<4>(hn::LoadU(d, rows[1] + i))));
    const V32 value = hn::ShiftRight<2>(hn::Add(hn::Add(above, below), two));
    hn::StoreU(hn::DemoteTo(D8(), value), D8(), out + i);
  }
  for (; i < n; ++i) out[i] = opencv_linear_value(weight, rows[0][i], rows[1][i]);
}

void cubic_down(const std::int32_t* const* rows, const std::int32_t* weight, std::size_t n, std::uint8_t* out) {
  const D32 d;
  const V32 half = hn::Set(d, 1 << 21), rest = hn::Set(d, (1 << 22) - 1), one = hn::Set(d, 1);
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    V32 sum = hn::Mul(hn::Set(d, weight[0]), hn::LoadU(d, rows[0] + i));
    for (int k = 1; k < 4; ++k) sum = hn::Add(sum, hn::Mul(hn::Set(d, weight[k]), hn::LoadU(d, rows[k] + i)));
    const V32 up = hn::ShiftRight<22>(hn::Add(sum, half));
    const auto tie = hn::Eq(hn::And(sum, rest), half);
    const V32 value = hn::IfThenElse(tie, hn::AndNot(one, up), up);
    hn::StoreU(hn::DemoteTo(D8(), value), D8(), out + i);
  }
  for (; i < n; ++i) {
    std::int32_t sum = 0;
    for (int k = 0; k < 4; ++k) sum += weight[k] * rows[k][i];
    out[i] = opencv_cubic_value(sum);
  }
}

void area_down(const float* row, float share, std::size_t n, float* sum) {
  const hn::ScalableTag<float> d;
  const auto s = hn::Set(d, share);
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Add(hn::LoadU(d, sum + i), hn::Mul(s, hn::LoadU(d, row + i))), d, sum + i);
  }
  for (; i < n; ++i) sum[i] += share * row[i];
}

}  // namespace ridgeline::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::image {
namespace {

template <int Taps, int Channels>
void across(const OpencvAcross& job, const std::uint8_t* in, std::int32_t* out) {
  const std::int32_t* weight = job.weight;
  for (std::size_t x = 0; x < job.width; ++x, weight += Taps, out += Channels) {
    const std::uint8_t* p = in + static_cast<std::ptrdiff_t>(job.first[x]) * Channels;
    if (job.count[x] == Taps) {
      for (int c = 0; c < Channels; ++c) {
        std::int32_t sum = 0;
        for (int k = 0; k < Taps; ++k) sum += weight[k] * p[k * Channels + c];
        out[c] = sum;
      }
    } else {
      for (int c = 0; c < Channels; ++c) {
        std::int32_t sum = 0;
        for (int k = 0; k < Taps; ++k) sum += weight[k] * p[std::min(k, job.count[x] - 1) * Channels + c];
        out[c] = sum;
      }
    }
  }
}

template <int Taps>
void across_by_channels(const OpencvAcross& job, const std::uint8_t* in, std::int32_t* out) {
  switch (job.channels) {
    case 1: return across<Taps, 1>(job, in, out);
    case 2: return across<Taps, 2>(job, in, out);
    case 3: return across<Taps, 3>(job, in, out);
    default: return across<Taps, 4>(job, in, out);
  }
}

}  // namespace

HWY_EXPORT(linear_down);
HWY_EXPORT(cubic_down);
HWY_EXPORT(area_down);

void opencv_linear_down(const std::int32_t* const* rows, const std::int32_t* weight, std::size_t n, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(linear_down)(rows, weight, n, out);
}

void opencv_cubic_down(const std::int32_t* const* rows, const std::int32_t* weight, std::size_t n, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(cubic_down)(rows, weight, n, out);
}

void opencv_area_down(const float* row, float share, std::size_t n, float* sum) {
  HWY_DYNAMIC_DISPATCH(area_down)(row, share, n, sum);
}

void opencv_weighted_across(const OpencvAcross& job, const std::uint8_t* in, std::int32_t* out) {
  job.taps == 2 ? across_by_channels<2>(job, in, out) : across_by_channels<4>(job, in, out);
}

}  // namespace ridgeline::image
#endif  // HWY_ONCE
