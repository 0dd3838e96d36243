#define HWY_WANT_AVX3_DL  // for AVX-512 with permutations of bytes

#include "ridgeline/image/jpeg/colour.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/image/jpeg/colour.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ridgeline::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D16 = hn::ScalableTag<std::int16_t>;
using D8 = hn::Rebind<std::uint8_t, D16>;  // as many lanes, so half a vector
using D8Full = hn::Repartition<std::uint8_t, D16>;
using V16 = hn::Vec<D16>;

HWY_INLINE V16 load(const std::uint8_t* p) { return hn::PromoteTo(D16(), hn::LoadU(D8(), p)); }

// even and odd, 0..255, interleaved.
HWY_INLINE void store_in_turns(V16 even, V16 odd, std::uint8_t* out) {
#if HWY_TARGET == HWY_SCALAR
  out[0] = static_cast<std::uint8_t>(hn::GetLane(even));
  out[1] = static_cast<std::uint8_t>(hn::GetLane(odd));
#else
  const D8Full d8;
  hn::StoreU(hn::BitCast(d8, hn::Or(even, hn::ShiftLeft<8>(odd))), d8, out);
#endif
}

HWY_INLINE V16 three_and_one(V16 near, V16 far) { return hn::Add(hn::Add(hn::Add(near, near), near), far); }

void across(const std::uint8_t* in, std::size_t n, std::uint8_t* out) {
  const D16 d16;
  const V16 one = hn::Set(d16, 1), two = hn::Set(d16, 2);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d16)) {
    const V16 here = load(in + i);
    const V16 even = hn::ShiftRight<2>(hn::Add(three_and_one(here, load(in + i - 1)), one));
    const V16 odd = hn::ShiftRight<2>(hn::Add(three_and_one(here, load(in + i + 1)), two));
    store_in_turns(even, odd, out + 2 * i);
  }
}

void down(const std::uint8_t* near, const std::uint8_t* far, std::size_t n, int bias, std::uint8_t* out) {
  const D16 d16;
  const V16 add = hn::Set(d16, static_cast<std::int16_t>(bias));
  for (std::size_t i = 0; i < n; i += hn::Lanes(d16)) {
    const V16 v = hn::ShiftRight<2>(hn::Add(three_and_one(load(near + i), load(far + i)), add));
    hn::StoreU(hn::DemoteTo(D8(), v), D8(), out + i);
  }
}

void both(const std::uint8_t* near, const std::uint8_t* far, std::size_t n, std::uint8_t* out) {
  const D16 d16;
  const V16 eight = hn::Set(d16, 8), seven = hn::Set(d16, 7);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d16)) {
    const V16 here = three_and_one(load(near + i), load(far + i));
    const V16 before = three_and_one(load(near + i - 1), load(far + i - 1));
    const V16 after = three_and_one(load(near + i + 1), load(far + i + 1));
    const V16 even = hn::ShiftRight<4>(hn::Add(three_and_one(here, before), eight));
    const V16 odd = hn::ShiftRight<4>(hn::Add(three_and_one(here, after), seven));
    store_in_turns(even, odd, out + 2 * i);
  }
}

// (factor * v + 2^15) >> 16 for |v| <= 128 and 16-bit factors: the high half of 2 factor v, halved with rounding.
HWY_INLINE V16 scaled(V16 twice_v, V16 factor) {
  const D16 d16;
  return hn::ShiftRight<1>(hn::Add(hn::MulHigh(twice_v, factor), hn::Set(d16, 1)));
}

#if HWY_TARGET == HWY_SCALAR

// (a * cb + b * cr + 2^15) >> 16.
HWY_INLINE V16 scaled_sum(V16 cb, V16 cr, int a, int b) {
  const int sum = hn::GetLane(cb) * a + hn::GetLane(cr) * b + 32768;
  return hn::Set(D16(), static_cast<std::int16_t>(sum >> 16));
}

#else

HWY_INLINE V16 scaled_sum(V16 cb, V16 cr, int a, int b) {
  const D16 d16;
  const hn::RepartitionToWide<D16> d32;
  const auto both = static_cast<std::uint32_t>(a & 0xffff) | static_cast<std::uint32_t>(b) << 16;
  const V16 factors = hn::BitCast(d16, hn::Set(d32, static_cast<std::int32_t>(both)));
  const auto round = hn::Set(d32, 1 << 15);
  auto rest0 = hn::Zero(d32), rest1 = hn::Zero(d32);
  // The sums begin with zero: only x86 keeps their lanes in place from the beginning.
  const auto zero = hn::Zero(d32);
  const auto low = hn::ReorderWidenMulAccumulate(d32, hn::InterleaveLower(d16, cb, cr), factors, zero, rest0);
  const auto high = hn::ReorderWidenMulAccumulate(d32, hn::InterleaveUpper(d16, cb, cr), factors, zero, rest1);
  return hn::ReorderDemote2To(d16, hn::ShiftRight<16>(hn::Add(hn::RearrangeToOddPlusEven(low, rest0), round)),
                              hn::ShiftRight<16>(hn::Add(hn::RearrangeToOddPlusEven(high, rest1), round)));
}

#endif

struct Rgb {
  V16 red, green, blue;  // may be beyond 0..255
};

// R = Y + 1.40200 Cr, G = Y - 0.34414 Cb - 0.71414 Cr, B = Y + 1.77200 Cb, constants times 2^16 and rounded.
// 1.402 = 1 + 26345 / 2^16; 0.71414 = 1 - 18734 / 2^16; 1.772 = 2 - 14942 / 2^16.
HWY_INLINE Rgb rgb_of(V16 luma, V16 cb, V16 cr) {
  const D16 d16;
  const V16 centre = hn::Set(d16, 128), to_red = hn::Set(d16, 26345), to_blue = hn::Set(d16, -14942);
  const V16 blue = hn::Sub(cb, centre), red = hn::Sub(cr, centre);
  const V16 red2 = hn::Add(red, red), blue2 = hn::Add(blue, blue);
  return {hn::Add(luma, hn::Add(red, scaled(red2, to_red))),
          hn::Add(hn::Sub(luma, red), scaled_sum(blue, red, -22554, 18734)),
          hn::Add(luma, hn::Add(blue2, scaled(blue2, to_blue)))};
}

#if HWY_TARGET == HWY_AVX3_DL

// For 64 pixels: from which byte of red, or of green behind it, each byte comes, and from which one of blue.
struct InTurns {
  alignas(64) std::uint8_t red_green[3][64];
  alignas(64) std::uint8_t blue[3][64];
  std::uint64_t is_blue[3];
  constexpr InTurns() : red_green(), blue(), is_blue() {
    for (int at = 0; at < 3 * 64; ++at) {
      const int pixel = at / 3, channel = at % 3, k = at / 64, i = at % 64;
      red_green[k][i] = static_cast<std::uint8_t>(channel == 1 ? 64 + pixel : pixel);
      blue[k][i] = static_cast<std::uint8_t>(pixel);
      if (channel == 2) is_blue[k] |= std::uint64_t{1} << i;
    }
  }
};
constexpr InTurns kInTurns;

// Widening and narrowing stay inside 128 bits and undo each other; complete bytes are permuted once, at the end.
void to_rgb(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr, std::size_t n, std::uint8_t* rgb) {
  const __m512i zero = _mm512_setzero_si512();
  for (std::size_t i = 0; i < n; i += 64, rgb += 3 * 64) {
    const __m512i luma = _mm512_loadu_si512(y + i), blue = _mm512_loadu_si512(cb + i);
    const __m512i red = _mm512_loadu_si512(cr + i);
    const Rgb low = rgb_of(V16{_mm512_unpacklo_epi8(luma, zero)}, V16{_mm512_unpacklo_epi8(blue, zero)},
                           V16{_mm512_unpacklo_epi8(red, zero)});
    const Rgb high = rgb_of(V16{_mm512_unpackhi_epi8(luma, zero)}, V16{_mm512_unpackhi_epi8(blue, zero)},
                            V16{_mm512_unpackhi_epi8(red, zero)});
    const __m512i r = _mm512_packus_epi16(low.red.raw, high.red.raw);
    const __m512i g = _mm512_packus_epi16(low.green.raw, high.green.raw);
    const __m512i b = _mm512_packus_epi16(low.blue.raw, high.blue.raw);
    for (int k = 0; k < 3; ++k) {
      const __m512i red_green = _mm512_permutex2var_epi8(r, _mm512_load_si512(kInTurns.red_green[k]), g);
      _mm512_storeu_si512(rgb + 64 * k, _mm512_mask_permutexvar_epi8(red_green, kInTurns.is_blue[k],
                                                                     _mm512_load_si512(kInTurns.blue[k]), b));
    }
  }
}

#else

void to_rgb(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr, std::size_t n, std::uint8_t* rgb) {
  const D8 d8;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d8)) {
    const Rgb v = rgb_of(load(y + i), load(cb + i), load(cr + i));
    hn::StoreInterleaved3(hn::DemoteTo(d8, v.red), hn::DemoteTo(d8, v.green), hn::DemoteTo(d8, v.blue), d8,
                          rgb + 3 * i);
  }
}

#endif

void to_grey(const std::uint8_t* y, std::size_t n, std::uint8_t* rgb) {
  const D8 d8;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d8)) {
    const auto v = hn::LoadU(d8, y + i);
    hn::StoreInterleaved3(v, v, v, d8, rgb + 3 * i);
  }
}

}  // namespace ridgeline::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::image {

HWY_EXPORT(across);
HWY_EXPORT(down);
HWY_EXPORT(both);
HWY_EXPORT(to_rgb);
HWY_EXPORT(to_grey);

void upsample_across(const std::uint8_t* in, std::size_t n, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(across)(in, n, out);
}

void upsample_down(const std::uint8_t* near, const std::uint8_t* far, std::size_t n, int bias, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(down)(near, far, n, bias, out);
}

void upsample_both(const std::uint8_t* near, const std::uint8_t* far, std::size_t n, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(both)(near, far, n, out);
}

void ycc_to_rgb(const std::uint8_t* y, const std::uint8_t* cb, const std::uint8_t* cr, std::size_t n,
                std::uint8_t* rgb) {
  HWY_DYNAMIC_DISPATCH(to_rgb)(y, cb, cr, n, rgb);
}

void grey_to_rgb(const std::uint8_t* y, std::size_t n, std::uint8_t* rgb) { HWY_DYNAMIC_DISPATCH(to_grey)(y, n, rgb); }

}  // namespace ridgeline::image
#endif  // HWY_ONCE
