#include "ridgeline/image/resample/passes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/image/resample/passes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ridgeline::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

void down_row(const DownRow& job, const PairedWeights&) { resample_down_plain(job, 0, job.n); }

void across_rgb(const AcrossRows& job, const PairedWeights&) {
  resample_across_plain(job, 3, 0, job.weights.positions);
}

#else

// Interleaving and packing below work inside 128-bit blocks and undo each other there (x86, NEON).
constexpr std::size_t kBytes = HWY_TARGET <= HWY_AVX3 ? 64 : HWY_TARGET <= HWY_AVX2 ? 32 : 16;
constexpr std::size_t kBlocks = kBytes / 16;
using D8 = hn::FixedTag<std::uint8_t, kBytes>;
using D8Half = hn::FixedTag<std::uint8_t, kBytes / 2>;
using D16 = hn::FixedTag<std::int16_t, kBytes / 2>;
using D32 = hn::FixedTag<std::int32_t, kBytes / 4>;
using D32u = hn::FixedTag<std::uint32_t, kBytes / 4>;
using V16 = hn::Vec<D16>;
using V32 = hn::Vec<D32>;

// Adds even[i] * w.even + odd[i] * w.odd for neighbouring 16-bit lanes to each 32-bit lane.
HWY_INLINE V32 add_pairs(V16 pairs, std::uint32_t weights, V32 sum) {
  const D32 d32;
  V32 rest = hn::Zero(d32);
  const V16 w = hn::BitCast(D16(), hn::Set(D32u(), weights));
  const V32 part = hn::ReorderWidenMulAccumulate(d32, pairs, w, hn::Zero(d32), rest);
  return hn::Add(sum, hn::RearrangeToOddPlusEven(part, rest));
}

HWY_INLINE V32 finish(V32 high, V32 low) {
  const V32 sum = hn::Add(hn::ShiftLeft<kLowBits>(high), low);
  return hn::ShiftRight<kWeightBits>(hn::Add(sum, hn::Set(D32(), 1 << (kWeightBits - 1))));
}

void down_row(const DownRow& job, const PairedWeights& form) {
  const D8Half d8;
  const D16 d16;
  const D32 d32;
  constexpr std::size_t step = kBytes / 2;
  const int count = job.weights.count[job.y];
  const std::size_t at = static_cast<std::size_t>(job.y) * static_cast<std::size_t>(form.pairs);
  const std::uint32_t *high = form.high.data() + at, *low = form.low.data() + at;
  std::size_t i = 0;
  for (; i + step <= job.n; i += step) {
    V32 high0 = hn::Zero(d32), high1 = high0, low0 = high0, low1 = high0;
    const std::uint8_t* p = job.in + i;
    for (int k = 0; k < count; k += 2, p += 2 * job.stride) {
      const V16 a = hn::PromoteTo(d16, hn::LoadU(d8, p));
      const V16 b = k + 1 < count ? hn::PromoteTo(d16, hn::LoadU(d8, p + job.stride)) : hn::Zero(d16);
      const V16 ab0 = hn::InterleaveLower(d16, a, b), ab1 = hn::InterleaveUpper(d16, a, b);
      high0 = add_pairs(ab0, high[k / 2], high0);
      high1 = add_pairs(ab1, high[k / 2], high1);
      low0 = add_pairs(ab0, low[k / 2], low0);
      low1 = add_pairs(ab1, low[k / 2], low1);
    }
    const V16 words = hn::ReorderDemote2To(d16, finish(high0, low0), finish(high1, low1));
    hn::StoreU(hn::DemoteTo(d8, words), d8, job.out + i);
  }
  resample_down_plain(job, i, job.n);
}

// 16 bytes from each of kBlocks rows, one row a block.
template <class D>
HWY_INLINE hn::Vec<D> load_rows(D d, const std::uint8_t* p, std::ptrdiff_t stride) {
  if constexpr (hn::MaxLanes(D()) == 16) {
    return hn::LoadU(d, p);
  } else {
    const hn::Half<D> half;
    constexpr auto rows = static_cast<std::ptrdiff_t>(hn::MaxLanes(D()) / 32);
    return hn::Combine(d, load_rows(half, p + rows * stride, stride), load_rows(half, p, stride));
  }
}

template <class D>
HWY_INLINE void store_rows(hn::Vec<D> v, D d, std::uint8_t* p, std::ptrdiff_t stride) {
  if constexpr (hn::MaxLanes(D()) == 16) {
    hn::StoreU(v, d, p);
  } else {
    const hn::Half<D> half;
    constexpr auto rows = static_cast<std::ptrdiff_t>(hn::MaxLanes(D()) / 32);
    store_rows(hn::LowerHalf(half, v), half, p, stride);
    store_rows(hn::UpperHalf(half, v), half, p + rows * stride, stride);
  }
}

// Result column x of kBlocks rows: red, green, blue and a zero in each block.
HWY_INLINE V32 across_column(const AcrossRows& job, const PairedWeights& form, const std::uint8_t* in, int x,
                             hn::Vec<D8> taps01, hn::Vec<D8> taps23) {
  const D8 d8;
  const D16 d16;
  V32 high = hn::Zero(D32()), low = high;
  const std::uint8_t* p = in + 3 * static_cast<std::ptrdiff_t>(job.weights.first[x]);
  const std::size_t at = static_cast<std::size_t>(x) * static_cast<std::size_t>(form.pairs);
  const std::uint32_t* wh = form.high.data() + at;
  const std::uint32_t* wl = form.low.data() + at;
  for (int k = 0; k < job.weights.count[x]; k += 4, p += 12, wh += 2, wl += 2) {
    const auto bytes = load_rows(d8, p, job.in_stride);
    const V16 pair01 = hn::BitCast(d16, hn::TableLookupBytesOr0(bytes, taps01));
    const V16 pair23 = hn::BitCast(d16, hn::TableLookupBytesOr0(bytes, taps23));
    high = add_pairs(pair01, wh[0], high);
    low = add_pairs(pair01, wl[0], low);
    high = add_pairs(pair23, wh[1], high);
    low = add_pairs(pair23, wl[1], low);
  }
  return finish(high, low);
}

void across_rgb(const AcrossRows& job, const PairedWeights& form) {
  const D8 d8;
  const D16 d16;
  constexpr std::uint8_t none = 0x80;
  // Bytes r0 g0 b0 r1 g1 b1 ... to 16-bit pairs (r0 r1) (g0 g1) (b0 b1) (0 0), and the same of pixels 2 and 3.
  alignas(16) static constexpr std::uint8_t kTaps01[16] = {0, none, 3, none, 1,    none, 4,    none,
                                                           2, none, 5, none, none, none, none, none};
  alignas(16) static constexpr std::uint8_t kTaps23[16] = {6, none, 9,  none, 7,    none, 10,   none,
                                                           8, none, 11, none, none, none, none, none};
  // Four pixels, interleaved as below, to 12 bytes.
  alignas(16) static constexpr std::uint8_t kPack[16] = {0, 2, 4,  8,  10,   12,   1,    3,
                                                         5, 9, 11, 13, none, none, none, none};
  const auto taps01 = hn::LoadDup128(d8, kTaps01);
  const auto taps23 = hn::LoadDup128(d8, kTaps23);
  const auto pack = hn::LoadDup128(d8, kPack);
  // A load takes 16 bytes for 4 taps, 12 of them used: the last columns, whose load would pass the row's end, are
  // plain.
  int columns = 0;
  const auto fits = [&](int x) {
    const int groups = (job.weights.count[x] + 3) / 4;
    return 3 * (job.weights.first[x] + 4 * (groups - 1)) + 16 <= 3 * job.in_width;
  };
  const int width = job.weights.positions;
  while (columns + 4 <= width && fits(columns) && fits(columns + 1) && fits(columns + 2) && fits(columns + 3)) {
    columns += 4;
  }
  constexpr int blocks = static_cast<int>(kBlocks);
  int y = 0;
  for (; y + blocks <= job.rows; y += blocks) {
    const std::uint8_t* in = job.in + y * job.in_stride;
    std::uint8_t* out = job.out + y * job.out_stride;
    for (int x = 0; x < columns; x += 4) {
      const V32 c0 = across_column(job, form, in, x, taps01, taps23);
      const V32 c1 = across_column(job, form, in, x + 1, taps01, taps23);
      const V32 c2 = across_column(job, form, in, x + 2, taps01, taps23);
      const V32 c3 = across_column(job, form, in, x + 3, taps01, taps23);
      const V16 w01 = hn::ReorderDemote2To(d16, c0, c1), w23 = hn::ReorderDemote2To(d16, c2, c3);
      // Words to bytes with saturation: columns 0 and 1 in the even bytes, 2 and 3 in the odd ones.
      const V16 top = hn::Set(d16, 255), zero = hn::Zero(d16);
      const V16 clipped01 = hn::Min(hn::Max(w01, zero), top), clipped23 = hn::Min(hn::Max(w23, zero), top);
      const auto bytes = hn::BitCast(d8, hn::Or(clipped01, hn::ShiftLeft<8>(clipped23)));
      store_rows(hn::TableLookupBytesOr0(bytes, pack), d8, out + 3 * static_cast<std::ptrdiff_t>(x), job.out_stride);
    }
  }
  AcrossRows rest = job;
  resample_across_plain(rest, 3, columns, width);
  rest.in += y * job.in_stride;
  rest.out += y * job.out_stride;
  rest.rows -= y;
  resample_across_plain(rest, 3, 0, columns);
}

#endif  // HWY_SCALAR

}  // namespace ridgeline::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::image {

HWY_EXPORT(down_row);
HWY_EXPORT(across_rgb);

void pair_weights(const AxisWeights& axis, int multiple_of_taps, PairedWeights& form) {
  if (form.made) return;
  const int padded = (axis.taps + multiple_of_taps - 1) / multiple_of_taps * multiple_of_taps;
  form.pairs = padded / 2;
  const auto taps = static_cast<std::size_t>(axis.taps), pairs = static_cast<std::size_t>(form.pairs);
  const auto positions = static_cast<std::size_t>(axis.positions);
  form.high.assign(positions * pairs, 0);
  form.low.assign(positions * pairs, 0);
  for (std::size_t x = 0; x < positions; ++x) {
    for (std::size_t k = 0; k < taps; ++k) {
      const std::int32_t w = axis.weight[x * taps + k];
      const auto high = static_cast<std::uint16_t>(w >> kLowBits);
      const auto low = static_cast<std::uint16_t>(w & ((1 << kLowBits) - 1));
      const int shift = k % 2 ? 16 : 0;
      form.high[x * pairs + k / 2] |= std::uint32_t{high} << shift;
      form.low[x * pairs + k / 2] |= std::uint32_t{low} << shift;
    }
  }
  form.made = true;
}

void resample_down_plain(const DownRow& job, std::size_t begin, std::size_t end) {
  const int count = job.weights.count[job.y];
  const std::int32_t* weight = job.weights.weight + static_cast<std::ptrdiff_t>(job.y) * job.weights.taps;
  for (std::size_t i = begin; i < end; ++i) {
    std::int32_t sum = 1 << (kWeightBits - 1);
    for (int k = 0; k < count; ++k) sum += job.in[k * job.stride + static_cast<std::ptrdiff_t>(i)] * weight[k];
    job.out[i] = clip_weighted_sum(sum);
  }
}

void resample_across_plain(const AcrossRows& job, int channels, int first_column, int last_column) {
  for (int y = 0; y < job.rows; ++y) {
    const std::uint8_t* in = job.in + y * job.in_stride;
    std::uint8_t* out = job.out + y * job.out_stride + static_cast<std::ptrdiff_t>(first_column) * channels;
    for (int x = first_column; x < last_column; ++x) {
      const std::int32_t* w = job.weights.weight + static_cast<std::ptrdiff_t>(x) * job.weights.taps;
      const std::uint8_t* p = in + static_cast<std::ptrdiff_t>(job.weights.first[x]) * channels;
      for (int c = 0; c < channels; ++c) {
        std::int32_t sum = 1 << (kWeightBits - 1);
        for (int k = 0; k < job.weights.count[x]; ++k) sum += p[k * channels + c] * w[k];
        *out++ = clip_weighted_sum(sum);
      }
    }
  }
}

void resample_down(const DownRow& job, DownForms& forms) {
  if (resample_down_by_bytes(job, forms.digits)) return;
  pair_weights(job.weights, 2, forms.pairs);
  HWY_DYNAMIC_DISPATCH(down_row)(job, forms.pairs);
}

void resample_across_rgb(const AcrossRows& job, AcrossForms& forms) {
  if (resample_across_rgb_by_bytes(job, forms.by_bytes) || resample_across_rgb_by_16(job, forms)) return;
  pair_weights(job.weights, 4, forms.pairs);
  HWY_DYNAMIC_DISPATCH(across_rgb)(job, forms.pairs);
}

}  // namespace ridgeline::image
#endif  // HWY_ONCE
