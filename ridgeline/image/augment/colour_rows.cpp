#include "ridgeline/image/augment/colour_rows.h"

#include <algorithm>
#include <array>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/image/augment/colour_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ridgeline/image/pixel_rows.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;

// For values in 0 to 1 nothing can leave the range, so always clipping changes nothing.
template <class D, class V>
HWY_INLINE hn::VFromD<hn::Rebind<std::uint8_t, D>> blend(D d, V poor, V image, V factor) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<std::uint8_t, D> du8;
  const auto value = hn::Add(poor, hn::Mul(factor, hn::Sub(image, poor)));
  const auto cut = hn::Min(hn::Max(value, hn::Zero(d)), hn::Set(d, 255.0f));
  return hn::DemoteTo(du8, hn::ConvertTo(di, cut));
}

// Runs some(from, to) on one vector of `lanes` items of `Each` values after the other; the rest at the end goes through
// a buffer of a full vector. `out` may be `in`.
template <std::size_t Each, class Some>
HWY_INLINE void in_vectors(std::size_t lanes, const std::uint8_t* in, std::size_t items, std::uint8_t* out, Some some) {
  std::size_t at = 0;
  for (; at + lanes <= items; at += lanes) some(in + Each * at, out + Each * at);
  if (at == items) return;
  std::array<std::uint8_t, Each * 64> last{};
  std::memcpy(last.data(), in + Each * at, Each * (items - at));
  some(last.data(), last.data());
  std::memcpy(out + Each * at, last.data(), Each * (items - at));
}

void blend_values(int poor, float factor, const std::uint8_t* in, std::size_t n, std::uint8_t* out) {
  const F32 d;
  const hn::RebindToSigned<F32> di;
  const hn::Rebind<std::uint8_t, F32> du8;
  const auto p = hn::Set(d, static_cast<float>(poor)), f = hn::Set(d, factor);
  in_vectors<1>(hn::Lanes(d), in, n, out, [=](const std::uint8_t* from, std::uint8_t* to) HWY_ATTR {
    const auto v = hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(du8, from)));
    hn::StoreU(blend(d, p, v, f), du8, to);
  });
}

template <class DI, class V>
HWY_INLINE V luma_of(DI di, V r, V g, V b) {
  const auto sum = hn::Add(hn::Add(hn::Mul(r, hn::Set(di, 19595)), hn::Mul(g, hn::Set(di, 38470))),
                           hn::Add(hn::Mul(b, hn::Set(di, 7471)), hn::Set(di, 0x8000)));
  return hn::ShiftRight<16>(sum);
}

void blend_with_luma(float factor, const std::uint8_t* in, std::size_t pixels, std::uint8_t* out) {
  const F32 d;
  const hn::RebindToSigned<F32> di;
  const hn::Rebind<std::uint8_t, F32> du8;
  const auto f = hn::Set(d, factor);
  in_vectors<3>(hn::Lanes(d), in, pixels, out, [=](const std::uint8_t* from, std::uint8_t* to) HWY_ATTR {
    auto r8 = hn::Zero(du8), g8 = r8, b8 = r8;
    hn::LoadInterleaved3(du8, from, r8, g8, b8);
    const auto r = hn::PromoteTo(di, r8), g = hn::PromoteTo(di, g8), b = hn::PromoteTo(di, b8);
    const auto grey = hn::ConvertTo(d, luma_of(di, r, g, b));
    hn::StoreInterleaved3(blend(d, grey, hn::ConvertTo(d, r), f), blend(d, grey, hn::ConvertTo(d, g), f),
                          blend(d, grey, hn::ConvertTo(d, b), f), du8, to);
  });
}

std::uint64_t sum_lumas(const std::uint8_t* in, std::size_t pixels) {
  const hn::ScalableTag<std::int32_t> di;
  const hn::Rebind<std::uint8_t, decltype(di)> du8;
  const std::size_t lanes = hn::Lanes(di);
  std::uint64_t sum = 0;
  std::size_t i = 0;
  while (i + lanes <= pixels) {
    auto part = hn::Zero(di);
    for (const std::size_t end = std::min(pixels, i + (lanes << 16)); i + lanes <= end; i += lanes) {
      auto r = hn::Zero(du8), g = r, b = r;
      hn::LoadInterleaved3(du8, in + 3 * i, r, g, b);
      part = hn::Add(part, luma_of(di, hn::PromoteTo(di, r), hn::PromoteTo(di, g), hn::PromoteTo(di, b)));
    }
    HWY_ALIGN std::int32_t values[hn::MaxLanes(di)];
    hn::Store(part, di, values);
    for (std::size_t k = 0; k < lanes; ++k) sum += static_cast<std::uint64_t>(values[k]);
  }
  for (; i < pixels; ++i) sum += static_cast<std::uint64_t>(luma(in + 3 * i));
  return sum;
}

void sharpen_values(float factor, const std::uint8_t* above, const std::uint8_t* row, const std::uint8_t* below,
                    std::size_t step, std::size_t n, std::uint8_t* out) {
  const F32 d;
  const hn::RebindToSigned<F32> di;
  const hn::Rebind<std::uint16_t, F32> du16;
  const hn::Rebind<std::uint8_t, F32> du8;
  const std::size_t lanes = hn::Lanes(d);
  const auto f = hn::Set(d, factor);
  const auto load = [&](const std::uint8_t* from) HWY_ATTR { return hn::PromoteTo(du16, hn::LoadU(du8, from)); };
  // One vector, whose first value is at these addresses.
  const auto some = [&](const std::uint8_t* up, const std::uint8_t* at, const std::uint8_t* down,
                        std::uint8_t* to) HWY_ATTR {
    const auto three = [&](const std::uint8_t* of)
                           HWY_ATTR { return hn::Add(hn::Add(load(of - step), load(of)), load(of + step)); };
    const auto middle = load(at);
    const auto sum = hn::Add(hn::Add(three(up), three(down)), hn::Add(three(at), hn::ShiftLeft<2>(middle)));
    // (sum + 6) / 13 for what is below 6,553: 5042 is 2^16 / 13 and a little more.
    const auto smooth = hn::MulHigh(hn::Add(sum, hn::Set(du16, 6)), hn::Set(du16, 5042));
    const auto poor = hn::ConvertTo(d, hn::PromoteTo(di, smooth));
    hn::StoreU(blend(d, poor, hn::ConvertTo(d, hn::PromoteTo(di, middle)), f), du8, to);
  };
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) some(above + i, row + i, below + i, out + i);
  if (i == n) return;
  // The rest, with its neighbours on both sides, through buffers of a whole vector.
  std::array<std::array<std::uint8_t, 64 + 2 * 3>, 3> near{};
  std::array<std::uint8_t, 64> last{};
  const std::uint8_t* const rows[] = {above, row, below};
  for (std::size_t k = 0; k < 3; ++k) std::memcpy(near[k].data(), rows[k] + i - step, n - i + 2 * step);
  some(near[0].data() + step, near[1].data() + step, near[2].data() + step, last.data());
  std::memcpy(out + i, last.data(), n - i);
}

// What Convert.c computes in float and double, with one division instead of several, and in integers where rounding
// makes no difference. That the results are the same was checked for all colours and shifts;
// tests/image/colour_test.cpp keeps one shift for each colour.
//
// A division by multiplications ends with one fused correction, of which the error is below 2^-19 of a last place. The
// quotient of two whole numbers up to 255, where no float, lies 2^-9 of a last place or more beside the middle of two
// floats, and a sixth of a float a twelfth: so the correction rounds as a division does, from any first guess of 11
// good bits, and processors may guess differently. A division of a vector of AVX-512 takes 16 cycles, this five.

#if HWY_TARGET <= HWY_AVX2  // they fuse

template <class V>
HWY_INLINE V whole_quotient(V a, V b) {
  const F32 f;
  const auto guess = hn::ApproximateReciprocal(b);
  const auto inverse = hn::MulAdd(guess, hn::NegMulAdd(b, guess, hn::Set(f, 1.0f)), guess);
  const auto q = hn::Mul(a, inverse);
  return hn::MulAdd(hn::NegMulAdd(b, q, a), inverse, q);
}

template <class V>
HWY_INLINE V sixth_of(V a) {
  const F32 f;
  const auto inverse = hn::Set(f, 1.0f / 6);
  const auto q = hn::Mul(a, inverse);
  return hn::MulAdd(hn::NegMulAdd(hn::Set(f, 6.0f), q, a), inverse, q);
}

#else

template <class V>
HWY_INLINE V whole_quotient(V a, V b) {
  return hn::Div(a, b);
}

template <class V>
HWY_INLINE V sixth_of(V a) {
  return hn::Div(a, hn::Set(F32(), 6.0f));
}

#endif

// trunc(255 * q), with the product as exact as Convert.c's in double, of q from 0 to 1: the rounded product may have
// reached the next whole number, and 256 * q - t and q say so, which are both exact.
template <class V>
HWY_INLINE auto of_255(V q) {
  const F32 f;
  const hn::RebindToSigned<F32> i;
  const auto t = hn::ConvertTo(i, hn::Mul(q, hn::Set(f, 255.0f)));
  const auto above = hn::Lt(hn::Sub(hn::Mul(q, hn::Set(f, 256.0f)), hn::ConvertTo(f, t)), q);
  return hn::Add(t, hn::VecFromMask(i, hn::RebindMask(i, above)));  // true is -1
}

// One vector of pixels.
template <class V>
HWY_INLINE void turn_hue(int shift, V& r, V& g, V& b) {
  const F32 f;
  const hn::RebindToSigned<F32> i;
  const hn::Rebind<std::uint16_t, F32> u16;
  const hn::Rebind<std::int16_t, F32> i16;
  const hn::Rebind<std::uint8_t, F32> u8;
  const auto wide = [&](auto v) HWY_ATTR { return hn::ConvertTo(f, hn::PromoteTo(i, v)); };
  const auto one = hn::Set(f, 1.0f);
  const auto most = hn::Max(r, g), least = hn::Min(r, g);
  const auto high = hn::Max(most, b), low = hn::Min(least, b), middle = hn::Max(least, hn::Min(most, b));
  const auto range = wide(hn::Sub(high, low)), value = wide(high);
  // Of the three shares (high - channel) / range, one is 0, one is 1, and this one between. Red's hue is -1 to 1,
  // green's 1 to 3, blue's 3 to 5, and falls with the share where the channel behind it in that order is the least.
  const auto share = whole_quotient(wide(hn::Sub(high, middle)), hn::Max(range, one));
  const auto red = hn::Eq(r, high), green = hn::Eq(g, high);
  const auto falls = hn::Eq(hn::IfThenElse(red, b, hn::IfThenElse(green, r, g)), low);
  const auto kind = hn::IfThenElse(red, hn::Zero(u8), hn::IfThenElse(green, hn::Set(u8, 2), hn::Set(u8, 4)));
  const auto back = wide(hn::IfThenElseZero(falls, hn::Set(u8, 2)));
  const auto h = hn::Add(hn::Add(wide(kind), hn::Sub(back, one)), hn::Mul(share, hn::Sub(one, back)));
  const auto sixth = sixth_of(h);
  const auto turn = hn::IfThenElse(hn::Lt(h, hn::Zero(f)), hn::Add(sixth, one), sixth);
  const auto hue = hn::DemoteTo(u16, hn::And(hn::Add(of_255(turn), hn::Set(i, shift)), hn::Set(i, 255)));
  const auto saturation = hn::DemoteTo(u16, of_255(whole_quotient(range, hn::Max(value, one))));

  // Back. The hue's place in its sector is a number of 85ths; a grey pixel has saturation 0, and all parts are its
  // value.
  const auto twice = hn::Add(hue, hue);
  const auto sector = hn::MulHigh(twice, hn::Set(u16, 772));  // twice / 85
  const auto place = hn::Sub(twice, hn::Mul(sector, hn::Set(u16, 85)));
  const auto odd = hn::Eq(hn::And(sector, hn::Set(u16, 1)), hn::Set(u16, 1));
  const auto away = hn::IfThenElse(odd, place, hn::Sub(hn::Set(u16, 85), place));
  // value * (255 - saturation) / 255, rounded; a half cannot come about, here and below.
  const auto low_part =
      hn::Add(hn::Mul(hn::PromoteTo(u16, high), hn::Sub(hn::Set(u16, 255), saturation)), hn::Set(u16, 128));
  const auto p16 = hn::ShiftRight<8>(hn::Add(low_part, hn::ShiftRight<8>(low_part)));
  // value * (1 - saturation / 255 * away / 85), rounded.
  const auto rest = hn::Sub(hn::Set(u16, 255 * 85), hn::Mul(saturation, away));
  const auto part = hn::Mul(hn::Mul(value, hn::ConvertTo(f, hn::PromoteTo(i, rest))), hn::Set(f, 1.0f / (255 * 85)));
  const auto m = hn::DemoteTo(u8, hn::NearestInt(part));
  const auto p = hn::DemoteTo(u8, hn::BitCast(i16, p16)), s = hn::DemoteTo(u8, hn::BitCast(i16, sector));
  const auto is = [&](int k) HWY_ATTR { return hn::Eq(s, hn::Set(u8, static_cast<std::uint8_t>(k))); };
  const auto first = hn::Or(is(0), is(6)), second = is(1), third = is(2), fourth = is(3), fifth = is(4),
             sixth_one = is(5);
  r = hn::IfThenElse(hn::Or(second, fifth), m, hn::IfThenElse(hn::Or(third, fourth), p, high));
  g = hn::IfThenElse(hn::Or(first, fourth), m, hn::IfThenElse(hn::Or(fifth, sixth_one), p, high));
  b = hn::IfThenElse(hn::Or(third, sixth_one), m, hn::IfThenElse(hn::Or(first, second), p, high));
}

void shift_hue(int shift, const std::uint8_t* in, std::size_t pixels, std::uint8_t* out) {
  const hn::Rebind<std::uint8_t, F32> u8;
  in_vectors<3>(hn::Lanes(u8), in, pixels, out, [=](const std::uint8_t* from, std::uint8_t* to) HWY_ATTR {
    auto r = hn::Zero(u8), g = r, b = r;
    hn::LoadInterleaved3(u8, from, r, g, b);
    turn_hue(shift, r, g, b);
    hn::StoreInterleaved3(r, g, b, u8, to);
  });
}

}  // namespace ridgeline::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::image {

HWY_EXPORT(blend_values);
HWY_EXPORT(blend_with_luma);
HWY_EXPORT(sum_lumas);
HWY_EXPORT(sharpen_values);
HWY_EXPORT(shift_hue);

void blend_row(int poor, float factor, const std::uint8_t* in, std::size_t n, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(blend_values)(poor, factor, in, n, out);
}
void blend_with_luma_row(float factor, const std::uint8_t* in, std::size_t pixels, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(blend_with_luma)(factor, in, pixels, out);
}
std::uint64_t luma_sum(const std::uint8_t* in, std::size_t pixels) {
  return HWY_DYNAMIC_DISPATCH(sum_lumas)(in, pixels);
}
void sharpen_row(float factor, const std::uint8_t* above, const std::uint8_t* row, const std::uint8_t* below,
                 std::size_t step, std::size_t n, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(sharpen_values)(factor, above, row, below, step, n, out);
}
void shift_hue_row(int shift, const std::uint8_t* in, std::size_t pixels, std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(shift_hue)(shift, in, pixels, out);
}

}  // namespace ridgeline::image
#endif  // HWY_ONCE
