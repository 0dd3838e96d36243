// The passes of the resizer for processors that permute and multiply bytes (AVX-512 VBMI and VNNI): four taps of a
// channel in one instruction for each digit of their weights.
#define HWY_WANT_AVX3_DL  // the name for them

#include <algorithm>

#include "ridgeline/image/resample/passes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/image/resample/by_bytes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ridgeline::image::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3_DL
#pragma GCC target("avx512vnni")  // Highway asks the processor for it, but not the compiler

constexpr int kColumns = 16, kDigits = 3;
constexpr std::int32_t kHalf = 1 << (kWeightBits - 1 - 16);  // of a level, at the highest digit

// The digits of four weights as one word for each place, the highest first. False for a weight beyond them.
HWY_INLINE bool cut(const std::int32_t* weight, int taps, std::uint32_t* words) {
  bool fits = true;
  std::fill_n(words, kDigits, 0u);
  for (int k = 0; k < std::min(taps, 4); ++k) {
    std::int32_t w = weight[k];
    for (int digit = kDigits - 1; digit >= 0; --digit) {
      const auto low = static_cast<std::int8_t>(w & 0xff);
      words[digit] |= std::uint32_t{static_cast<std::uint8_t>(low)} << (8 * k);
      w = (w - low) >> 8;
    }
    fits = fits && w == 0;
  }
  return fits;
}

struct Sums {
  __m512i high, middle, low;
};

HWY_INLINE Sums no_sums() { return {_mm512_set1_epi32(kHalf), _mm512_setzero_si512(), _mm512_setzero_si512()}; }

HWY_INLINE void add(Sums& sums, __m512i taps, __m512i high, __m512i middle, __m512i low) {
  sums.high = _mm512_dpbusd_epi32(sums.high, taps, high);
  sums.middle = _mm512_dpbusd_epi32(sums.middle, taps, middle);
  sums.low = _mm512_dpbusd_epi32(sums.low, taps, low);
}

HWY_INLINE __m512i finish(const Sums& sums) {
  const __m512i upper = _mm512_add_epi32(_mm512_slli_epi32(sums.high, 8), sums.middle);
  return _mm512_srai_epi32(_mm512_add_epi32(_mm512_slli_epi32(upper, 8), sums.low), kWeightBits);
}

// add() and finish() of no_sums() at once.
HWY_INLINE __m512i weigh(__m512i taps, __m512i high, __m512i middle, __m512i low) {
  __m512i sum = _mm512_dpbusd_epi32(_mm512_set1_epi32(kHalf), taps, high);
  sum = _mm512_dpbusd_epi32(_mm512_slli_epi32(sum, 8), taps, middle);
  sum = _mm512_dpbusd_epi32(_mm512_slli_epi32(sum, 8), taps, low);
  return _mm512_srai_epi32(sum, kWeightBits);
}

// To bytes with saturation.
HWY_INLINE __m512i packed(__m512i part0, __m512i part1, __m512i part2, __m512i part3) {
  return _mm512_packus_epi16(_mm512_packs_epi32(part0, part1), _mm512_packs_epi32(part2, part3));
}

bool make_blocks(const AxisWeights& axis, AcrossByBytes& form) {
  const int last = axis.positions - 1;
  for (int x0 = 0; x0 <= last; x0 += kColumns) {
    AcrossByteBlock block;
    block.begin = 3 * axis.first[x0];
    block.one_vector = true;
    int taps = 0;
    for (int i = 0; i < kColumns; ++i) {
      const int x = std::min(x0 + i, last), place = 3 * axis.first[x] - block.begin;
      const int end = place + 3 * 4;  // of the fourth tap
      if (place < 0 || end > 128) return false;
      block.one_vector = block.one_vector && end <= 64;
      for (int k = 0; k < 4; ++k) block.place[4 * i + k] = static_cast<std::uint8_t>(place + 3 * k);
      taps = std::max(taps, axis.count[x]);
    }
    block.groups = (taps + 3) / 4;
    block.from = form.weights.size();
    form.weights.resize(block.from + static_cast<std::size_t>(block.groups * kDigits * kColumns));
    std::uint32_t* to = form.weights.data() + block.from;
    for (int group = 0; group < block.groups; ++group, to += kDigits * kColumns) {
      for (int i = 0; i < kColumns; ++i) {
        const int x = std::min(x0 + i, last);
        std::uint32_t words[kDigits];
        if (!cut(axis.weight + x * axis.taps + 4 * group, axis.count[x] - 4 * group, words)) return false;
        for (int digit = 0; digit < kDigits; ++digit) to[digit * kColumns + i] = words[digit];
      }
    }
    form.reach = std::max(form.reach, block.begin + 12 * (block.groups - 1) + (block.one_vector ? 64 : 128));
    form.blocks.push_back(block);
  }
  return true;
}

// 64 bytes of a row, zeros from its end on: it has `left` bytes.
template <bool kInside>
HWY_INLINE __m512i load(const std::uint8_t* p, std::ptrdiff_t left) {
  if constexpr (kInside) {
    return _mm512_loadu_si512(p);
  } else {
    if (left <= 0) return _mm512_setzero_si512();
    return _mm512_maskz_loadu_epi8(left < 64 ? (std::uint64_t{1} << left) - 1 : ~std::uint64_t{0}, p);
  }
}

// The window's bytes of one channel, four taps for each column.
template <bool kOneVector, bool kInside>
struct Window {
  __m512i first, second;
  HWY_INLINE Window(const std::uint8_t* p, std::ptrdiff_t left)
      : first(load<kInside>(p, left)), second(kOneVector ? _mm512_setzero_si512() : load<kInside>(p + 64, left - 64)) {}
  HWY_INLINE __m512i pick(__m512i place) const {
    return kOneVector ? _mm512_permutexvar_epi8(place, first) : _mm512_permutex2var_epi8(first, place, second);
  }
};

// Where the bytes of sixteen pixels are after packing: in each 128 bits four of red, of green, of blue.
struct Packed {
  alignas(64) std::uint8_t at[64];
  constexpr Packed() : at() {
    for (int i = 0; i < 3 * kColumns; ++i) {
      const int pixel = i / 3, channel = i % 3;
      at[i] = static_cast<std::uint8_t>(16 * (pixel / 4) + 4 * channel + pixel % 4);
    }
  }
};
constexpr Packed kPacked;

// `left`: bytes of the row from the window's begin on.
template <bool kOneVector, bool kInside>
HWY_INLINE void one_block(const AcrossByteBlock& block, const std::uint8_t* in, std::ptrdiff_t left,
                          const std::uint32_t* weights, std::uint8_t* out) {
  const __m512i red = _mm512_load_si512(block.place);
  const __m512i green = _mm512_add_epi8(red, _mm512_set1_epi8(1)), blue = _mm512_add_epi8(red, _mm512_set1_epi8(2));
  __m512i r, g, b;
  if (block.groups == 1) {
    const Window<kOneVector, kInside> window(in, left);
    const __m512i high = _mm512_loadu_si512(weights), middle = _mm512_loadu_si512(weights + kColumns);
    const __m512i low = _mm512_loadu_si512(weights + 2 * kColumns);
    r = weigh(window.pick(red), high, middle, low);
    g = weigh(window.pick(green), high, middle, low);
    b = weigh(window.pick(blue), high, middle, low);
  } else {
    Sums reds = no_sums(), greens = reds, blues = reds;
    for (int group = 0; group < block.groups; ++group, in += 12, left -= 12, weights += kDigits * kColumns) {
      const Window<kOneVector, kInside> window(in, left);
      const __m512i high = _mm512_loadu_si512(weights), middle = _mm512_loadu_si512(weights + kColumns);
      const __m512i low = _mm512_loadu_si512(weights + 2 * kColumns);
      add(reds, window.pick(red), high, middle, low);
      add(greens, window.pick(green), high, middle, low);
      add(blues, window.pick(blue), high, middle, low);
    }
    r = finish(reds);
    g = finish(greens);
    b = finish(blues);
  }
  _mm512_storeu_si512(out, _mm512_permutexvar_epi8(_mm512_load_si512(kPacked.at), packed(r, g, b, b)));
}

template <bool kInside>
HWY_INLINE void one_row(const AcrossByBytes& form, const std::uint8_t* in, std::ptrdiff_t bytes, std::uint8_t* out) {
  for (const AcrossByteBlock& block : form.blocks) {
    const std::uint32_t* weights = form.weights.data() + block.from;
    if (block.one_vector) {
      one_block<true, kInside>(block, in + block.begin, bytes - block.begin, weights, out);
    } else {
      one_block<false, kInside>(block, in + block.begin, bytes - block.begin, weights, out);
    }
    out += 3 * kColumns;
  }
}

bool across_by_bytes(const AcrossRows& job, AcrossByBytes& form) {
  if (!form.made) {
    form.blocks.clear();
    form.weights.clear();
    form.reach = 0;
    form.fits = make_blocks(job.weights, form);
    form.made = true;
  }
  if (!form.fits) return false;
  const std::ptrdiff_t bytes = 3 * static_cast<std::ptrdiff_t>(job.in_width);
  for (int y = 0; y < job.rows; ++y) {
    const std::uint8_t* in = job.in + y * job.in_stride;
    std::uint8_t* out = job.out + y * job.out_stride;
    // Windows reach beyond a row's end, where weights are zero: into the next row, if there is one.
    if (y + 1 < job.rows && form.reach <= job.in_stride + bytes) {
      one_row<true>(form, in, bytes, out);
    } else {
      one_row<false>(form, in, bytes, out);
    }
  }
  return true;
}

bool make_digits(const AxisWeights& axis, DigitWeights& form) {
  form.groups = (axis.taps + 3) / 4;
  form.words.resize(static_cast<std::size_t>(axis.positions * form.groups * kDigits));
  std::uint32_t* to = form.words.data();
  for (int y = 0; y < axis.positions; ++y) {
    for (int group = 0; group < form.groups; ++group, to += kDigits) {
      if (!cut(axis.weight + y * axis.taps + 4 * group, axis.count[y] - 4 * group, to)) return false;
    }
  }
  return true;
}

// Four rows' bytes side by side: word i of part p holds those of byte 16 * (i / 4) + 4 * p + i % 4.
struct Columns {
  __m512i part0, part1, part2, part3;
};

HWY_INLINE Columns side_by_side(__m512i r0, __m512i r1, __m512i r2, __m512i r3) {
  const __m512i low01 = _mm512_unpacklo_epi8(r0, r1), high01 = _mm512_unpackhi_epi8(r0, r1);
  const __m512i low23 = _mm512_unpacklo_epi8(r2, r3), high23 = _mm512_unpackhi_epi8(r2, r3);
  return {_mm512_unpacklo_epi16(low01, low23), _mm512_unpackhi_epi16(low01, low23),
          _mm512_unpacklo_epi16(high01, high23), _mm512_unpackhi_epi16(high01, high23)};
}

// The rows k to k + 3 that a position reads. After the last one it is repeated: weights are zero there.
struct FourRows {
  const std::uint8_t *r0, *r1, *r2, *r3;
  FourRows(const DownRow& job, int k, int count)
      : r0(row(job, k, count)), r1(row(job, k + 1, count)), r2(row(job, k + 2, count)), r3(row(job, k + 3, count)) {}
  static const std::uint8_t* row(const DownRow& job, int k, int count) {
    return job.in + std::min(k, count - 1) * job.stride;
  }
  // 64 bytes from `at` on, or `left` of them.
  template <bool kWhole>
  HWY_INLINE Columns columns(std::size_t at, std::ptrdiff_t left) const {
    return side_by_side(load<kWhole>(r0 + at, left), load<kWhole>(r1 + at, left), load<kWhole>(r2 + at, left),
                        load<kWhole>(r3 + at, left));
  }
};

struct Digits {
  __m512i high, middle, low;
};

HWY_INLINE Digits digits(const std::uint32_t* words) {
  return {_mm512_set1_epi32(static_cast<std::int32_t>(words[0])),
          _mm512_set1_epi32(static_cast<std::int32_t>(words[1])),
          _mm512_set1_epi32(static_cast<std::int32_t>(words[2]))};
}

// 64 bytes of the result from up to four rows.
template <bool kWhole>
HWY_INLINE __m512i from_four(const FourRows& rows, const Digits& w, std::size_t at, std::ptrdiff_t left) {
  const Columns c = rows.columns<kWhole>(at, left);
  return packed(weigh(c.part0, w.high, w.middle, w.low), weigh(c.part1, w.high, w.middle, w.low),
                weigh(c.part2, w.high, w.middle, w.low), weigh(c.part3, w.high, w.middle, w.low));
}

// From any number of rows.
template <bool kWhole>
HWY_INLINE __m512i from_more(const DownRow& job, const std::uint32_t* words, std::size_t at, std::ptrdiff_t left) {
  const int count = job.weights.count[job.y];
  Sums sums0 = no_sums(), sums1 = sums0, sums2 = sums0, sums3 = sums0;
  for (int k = 0; k < count; k += 4, words += kDigits) {
    const Columns c = FourRows(job, k, count).columns<kWhole>(at, left);
    const Digits w = digits(words);
    add(sums0, c.part0, w.high, w.middle, w.low);
    add(sums1, c.part1, w.high, w.middle, w.low);
    add(sums2, c.part2, w.high, w.middle, w.low);
    add(sums3, c.part3, w.high, w.middle, w.low);
  }
  return packed(finish(sums0), finish(sums1), finish(sums2), finish(sums3));
}

bool down_by_bytes(const DownRow& job, DigitWeights& form) {
  if (!form.made) {
    form.fits = make_digits(job.weights, form);
    form.made = true;
  }
  if (!form.fits) return false;
  const std::uint32_t* words = form.words.data() + job.y * form.groups * kDigits;
  const std::size_t whole = job.n / 64 * 64;
  const auto left = static_cast<std::ptrdiff_t>(job.n - whole);
  const std::uint64_t present = (std::uint64_t{1} << left) - 1;
  std::uint8_t* const out = job.out;
  const int count = job.weights.count[job.y];
  if (count <= 4) {
    const FourRows rows(job, 0, count);
    const Digits w = digits(words);
    for (std::size_t at = 0; at < whole; at += 64) _mm512_storeu_si512(out + at, from_four<true>(rows, w, at, 64));
    if (left > 0) _mm512_mask_storeu_epi8(out + whole, present, from_four<false>(rows, w, whole, left));
  } else {
    for (std::size_t at = 0; at < whole; at += 64) _mm512_storeu_si512(out + at, from_more<true>(job, words, at, 64));
    if (left > 0) _mm512_mask_storeu_epi8(out + whole, present, from_more<false>(job, words, whole, left));
  }
  return true;
}

#else

bool across_by_bytes(const AcrossRows&, AcrossByBytes&) { return false; }
bool down_by_bytes(const DownRow&, DigitWeights&) { return false; }

#endif

}  // namespace ridgeline::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::image {

HWY_EXPORT(across_by_bytes);
HWY_EXPORT(down_by_bytes);

bool resample_across_rgb_by_bytes(const AcrossRows& job, AcrossByBytes& form) {
  return HWY_DYNAMIC_DISPATCH(across_by_bytes)(job, form);
}
bool resample_down_by_bytes(const DownRow& job, DigitWeights& form) {
  return HWY_DYNAMIC_DISPATCH(down_by_bytes)(job, form);
}

}  // namespace ridgeline::image
#endif  // HWY_ONCE
