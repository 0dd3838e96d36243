// The across pass of the resizer for AVX-512: sixteen result pixels at a time, whose source pixels are gathered by
// permutations of a row of four-byte pixels.
#include <algorithm>

#include "ridgeline/image/resample/passes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/image/resample/across.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ridgeline::image::HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3

constexpr int kLanes = AcrossBlock::kColumns;

// False where a window is too small: when shrinking by more than four.
bool make_blocks(const AxisWeights& axis, const PairedWeights& pairs, AcrossBy16& plan) {
  const int last = axis.positions - 1;
  for (int x0 = 0; x0 < axis.positions; x0 += kLanes) {
    AcrossBlock block;
    block.begin[0] = axis.first[x0];
    block.begin[1] = axis.first[std::min(x0 + kLanes / 2, last)];
    block.one_window = axis.first[std::min(x0 + kLanes - 1, last)] - block.begin[0] < 32;
    if (block.one_window) block.begin[1] = block.begin[0];
    int taps = 0;
    for (int i = 0; i < kLanes; ++i) {
      const int x = std::min(x0 + i, last);
      block.place[i] = axis.first[x] - block.begin[i < kLanes / 2 ? 0 : 1];
      if (block.place[i] < 0 || block.place[i] > 31) return false;
      taps = std::max(taps, axis.count[x]);
    }
    block.pairs = (taps + 1) / 2;
    block.from = plan.weights.size();
    for (int pair = 0; pair < block.pairs; ++pair) {
      for (const auto* half : {&pairs.high, &pairs.low}) {
        for (int i = 0; i < kLanes; ++i) {
          const int x = std::min(x0 + i, last);
          plan.weights.push_back((*half)[static_cast<std::size_t>(x) * static_cast<std::size_t>(pairs.pairs) +
                                         static_cast<std::size_t>(pair)]);
        }
      }
    }
    plan.blocks.push_back(block);
  }
  return true;
}

void plan_by_16(const AcrossRows& job, AcrossForms& forms) {
  AcrossBy16& plan = forms.by_16;
  if (plan.made) return;
  pair_weights(job.weights, 4, forms.pairs);
  plan.blocks.clear();
  plan.weights.clear();
  plan.fits = make_blocks(job.weights, forms.pairs, plan);
  // Windows and taps reach beyond the row's end; weights are zero there.
  if (plan.fits) plan.row.resize(static_cast<std::size_t>(job.in_width + job.weights.taps + 4 * kLanes));
  plan.made = true;
}

// Three bytes a pixel to four.
HWY_INLINE void widen_row(const std::uint8_t* in, int width, std::uint32_t* out) {
  const __m512i thirds = _mm512_setr_epi32(0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9, 10, 11, 12);
  const __m512i bytes = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1));
  const auto spread = [&](__m512i v)
                          HWY_ATTR { return _mm512_shuffle_epi8(_mm512_permutexvar_epi32(thirds, v), bytes); };
  int x = 0;
  for (; 3 * (width - x) >= 64; x += kLanes, in += 3 * kLanes) {
    _mm512_storeu_si512(out + x, spread(_mm512_loadu_si512(in)));
  }
  for (; x < width; x += kLanes, in += 3 * kLanes) {
    const __mmask64 present = ~std::uint64_t{0} >> (64 - std::min(48, 3 * (width - x)));
    _mm512_storeu_si512(out + x, spread(_mm512_maskz_loadu_epi8(present, in)));
  }
}

HWY_INLINE __m512i pick(const std::uint32_t* window, __m512i place) {
  return _mm512_permutex2var_epi32(_mm512_loadu_si512(window), place, _mm512_loadu_si512(window + kLanes));
}

struct Sums {
  __m512i high, low;
};

HWY_INLINE void add(Sums& sums, __m512i pair, __m512i high, __m512i low) {
  sums.high = _mm512_add_epi32(sums.high, _mm512_madd_epi16(pair, high));
  sums.low = _mm512_add_epi32(sums.low, _mm512_madd_epi16(pair, low));
}

HWY_INLINE __m512i finish(const Sums& sums) {
  const __m512i sum = _mm512_add_epi32(_mm512_slli_epi32(sums.high, kLowBits), sums.low);
  const __m512i v = _mm512_srai_epi32(_mm512_add_epi32(sum, _mm512_set1_epi32(1 << (kWeightBits - 1))), kWeightBits);
  return _mm512_min_epi32(_mm512_max_epi32(v, _mm512_setzero_si512()), _mm512_set1_epi32(255));
}

template <bool kOneWindow>
HWY_INLINE void one_block(const AcrossBlock& block, const std::uint32_t* row, const std::uint32_t* weights,
                          std::uint8_t* out) {
  const __m512i place = _mm512_load_si512(block.place), byte = _mm512_set1_epi32(0xff);
  const __m512i zero = _mm512_setzero_si512();
  Sums red{zero, zero}, green = red, blue = red;
  const std::uint32_t *left = row + block.begin[0], *right = row + block.begin[1];
  for (int pair = 0; pair < block.pairs; ++pair, left += 2, right += 2, weights += 2 * kLanes) {
    __m512i a = pick(left, place), b = pick(left + 1, place);
    if constexpr (!kOneWindow) {
      a = _mm512_mask_blend_epi32(0xff00, a, pick(right, place));
      b = _mm512_mask_blend_epi32(0xff00, b, pick(right + 1, place));
    }
    const __m512i high = _mm512_loadu_si512(weights), low = _mm512_loadu_si512(weights + kLanes);
    // a in the lower halfword, b in the upper one; ternary 0xea: (x & y) | z.
    const __m512i upper = _mm512_slli_epi32(byte, 16);
    const __m512i r = _mm512_ternarylogic_epi32(a, byte, _mm512_and_si512(_mm512_slli_epi32(b, 16), upper), 0xea);
    const __m512i g = _mm512_ternarylogic_epi32(_mm512_srli_epi32(a, 8), byte,
                                                _mm512_and_si512(_mm512_slli_epi32(b, 8), upper), 0xea);
    const __m512i bl = _mm512_ternarylogic_epi32(b, upper, _mm512_srli_epi32(a, 16), 0xea);  // a's top byte is zero
    add(red, r, high, low);
    add(green, g, high, low);
    add(blue, bl, high, low);
  }
  const __m512i pixels = _mm512_or_si512(_mm512_or_si512(finish(red), _mm512_slli_epi32(finish(green), 8)),
                                         _mm512_slli_epi32(finish(blue), 16));
  const __m512i bytes = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
  const __m512i thirds = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
  _mm512_storeu_si512(out, _mm512_permutexvar_epi32(thirds, _mm512_shuffle_epi8(pixels, bytes)));
}

bool across_by_16(const AcrossRows& job, AcrossForms& forms) {
  plan_by_16(job, forms);
  AcrossBy16& plan = forms.by_16;
  if (!plan.fits) return false;
  std::uint32_t* row = plan.row.data();
  const std::uint32_t* weights = plan.weights.data();
  for (int y = 0; y < job.rows; ++y) {
    widen_row(job.in + y * job.in_stride, job.in_width, row);
    std::uint8_t* out = job.out + y * job.out_stride;
    for (const AcrossBlock& block : plan.blocks) {
      if (block.one_window) {
        one_block<true>(block, row, weights + block.from, out);
      } else {
        one_block<false>(block, row, weights + block.from, out);
      }
      out += 3 * kLanes;
    }
  }
  return true;
}

#else

bool across_by_16(const AcrossRows&, AcrossForms&) { return false; }

#endif

}  // namespace ridgeline::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::image {

HWY_EXPORT(across_by_16);

bool resample_across_rgb_by_16(const AcrossRows& job, AcrossForms& forms) {
  return HWY_DYNAMIC_DISPATCH(across_by_16)(job, forms);
}

}  // namespace ridgeline::image
#endif  // HWY_ONCE
