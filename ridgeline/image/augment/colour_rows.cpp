#include "ridgeline/image/augment/colour_rows.h"

#include <algorithm>
#include <array>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/image/augment/colour_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ridgeline/image/pixel_rows.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using F64 = hn::ScalableTag<double>;

// Within 0 to 1 nothing can leave the range, so that clipping always is the same.
template <class D, class V>
HWY_INLINE hn::VFromD<hn::Rebind<std::uint8_t, D>> blend(D d, V poor, V image, V factor) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<std::uint8_t, D> du8;
  const auto value = hn::Add(poor, hn::Mul(factor, hn::Sub(image, poor)));
  const auto cut = hn::Min(hn::Max(value, hn::Zero(d)), hn::Set(d, 255.0f));
  return hn::DemoteTo(du8, hn::ConvertTo(di, cut));
}

std::uint8_t blend_one(int poor, int image, float factor) {
  const float value = static_cast<float>(poor) + factor * static_cast<float>(image - poor);
  return static_cast<std::uint8_t>(value <= 0.0f ? 0.0f : value >= 255.0f ? 255.0f : value);
}

void blend_values(int poor, float factor, const std::uint8_t* in, std::size_t n, std::uint8_t* out) {
  const F32 d;
  const hn::RebindToSigned<F32> di;
  const hn::Rebind<std::uint8_t, F32> du8;
  const std::size_t lanes = hn::Lanes(d);
  const auto p = hn::Set(d, static_cast<float>(poor)), f = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(du8, in + i)));
    hn::StoreU(blend(d, p, v, f), du8, out + i);
  }
  for (; i < n; ++i) out[i] = blend_one(poor, in[i], factor);
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
  const std::size_t lanes = hn::Lanes(d);
  const auto f = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + lanes <= pixels; i += lanes) {
    auto r8 = hn::Zero(du8), g8 = r8, b8 = r8;
    hn::LoadInterleaved3(du8, in + 3 * i, r8, g8, b8);
    const auto r = hn::PromoteTo(di, r8), g = hn::PromoteTo(di, g8), b = hn::PromoteTo(di, b8);
    const auto grey = hn::ConvertTo(d, luma_of(di, r, g, b));
    hn::StoreInterleaved3(blend(d, grey, hn::ConvertTo(d, r), f), blend(d, grey, hn::ConvertTo(d, g), f),
                          blend(d, grey, hn::ConvertTo(d, b), f), du8, out + 3 * i);
  }
  for (; i < pixels; ++i) {
    const int grey = luma(in + 3 * i);
    for (std::size_t c = 0; c < 3; ++c) out[3 * i + c] = blend_one(grey, in[3 * i + c], factor);
  }
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
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto three = [&](const std::uint8_t* of) HWY_ATTR {
      return hn::Add(hn::Add(load(of + i - step), load(of + i)), load(of + i + step));
    };
    const auto middle = load(row + i);
    const auto sum = hn::Add(hn::Add(three(above), three(below)), hn::Add(three(row), hn::ShiftLeft<2>(middle)));
    // (sum + 6) / 13 for what is below 6,553: 5042 is 2^16 / 13 and a little more.
    const auto smooth = hn::MulHigh(hn::Add(sum, hn::Set(du16, 6)), hn::Set(du16, 5042));
    const auto poor = hn::ConvertTo(d, hn::PromoteTo(di, smooth));
    hn::StoreU(blend(d, poor, hn::ConvertTo(d, hn::PromoteTo(di, middle)), f), du8, out + i);
  }
  for (; i < n; ++i) {
    const auto three = [&](const std::uint8_t* of) { return of[i - step] + of[i] + of[i + step]; };
    out[i] = blend_one((three(above) + three(below) + three(row) + 4 * row[i] + 6) / 13, row[i], factor);
  }
}

// One vector of pixels as whole numbers 0 to 255, `lanes` of F64: quotients in float, the sums of the sectors in
// double, fractions dropped, as in Convert.c.
template <class V>
HWY_INLINE void turn_hue(int shift, V& r, V& g, V& b) {
  const F64 d;
  const hn::Rebind<float, F64> f;
  const hn::Rebind<std::int32_t, F64> i;
  const auto zero = hn::Zero(i);
  const auto wide = [&](auto v) HWY_ATTR { return hn::PromoteTo(d, v); };
  const auto high = hn::Max(hn::Max(r, g), b), low = hn::Min(hn::Min(r, g), b);
  const auto range = hn::Sub(high, low);
  const auto grey = hn::Eq(range, zero);
  // Grey pixels divide by one; their hue is not used.
  const auto by = hn::ConvertTo(f, hn::IfThenElse(grey, hn::Set(i, 1), range));
  const auto share = [&](auto v) HWY_ATTR { return hn::Div(hn::ConvertTo(f, hn::Sub(high, v)), by); };
  const auto rc = share(r), gc = share(g), bc = share(b);
  const auto saturation = hn::Div(hn::ConvertTo(f, range), hn::ConvertTo(f, hn::Max(high, hn::Set(i, 1))));
  const auto h_red = hn::Sub(bc, gc);
  const auto h_green = hn::DemoteTo(f, hn::Sub(hn::Add(hn::Set(d, 2.0), wide(rc)), wide(bc)));
  const auto h_blue = hn::DemoteTo(f, hn::Sub(hn::Add(hn::Set(d, 4.0), wide(gc)), wide(rc)));
  const auto red = hn::RebindMask(f, hn::Eq(r, high)), green = hn::RebindMask(f, hn::Eq(g, high));
  const auto h = hn::IfThenElse(red, h_red, hn::IfThenElse(green, h_green, h_blue));
  const auto turned = hn::Add(hn::Div(wide(h), hn::Set(d, 6.0)), hn::Set(d, 1.0));
  const auto turn = hn::DemoteTo(f, hn::Sub(turned, hn::Floor(turned)));
  const auto scaled = [&](auto v) HWY_ATTR { return hn::DemoteTo(i, hn::Mul(wide(v), hn::Set(d, 255.0))); };
  const auto hue = hn::And(hn::Add(scaled(turn), hn::Set(i, shift)), hn::Set(i, 255));
  const auto s8 = hn::IfThenElse(grey, zero, scaled(saturation));

  const auto sixths = hn::Div(hn::Mul(wide(hue), hn::Set(d, 6.0)), hn::Set(d, 255.0));
  const auto sector = hn::DemoteTo(i, sixths);
  const auto rest = hn::DemoteTo(f, hn::Sub(sixths, wide(sector)));
  const auto s = hn::DemoteTo(f, hn::Div(wide(s8), hn::Set(d, 255.0)));
  const auto one = hn::Set(d, 1.0), v = wide(high), sd = wide(s);
  const auto part = [&](auto away) HWY_ATTR {  // C's round() of what is not negative
    return hn::DemoteTo(i, hn::Floor(hn::Add(hn::Mul(v, hn::Sub(one, away)), hn::Set(d, 0.5))));
  };
  const auto p = part(sd), q = part(wide(hn::Mul(s, rest))), t = part(hn::Mul(sd, hn::Sub(one, wide(rest))));
  const auto is = [&](int k) HWY_ATTR { return hn::Eq(sector, hn::Set(i, k)); };
  const auto first = hn::Or(is(0), is(6));
  const auto colourless = hn::Eq(s8, zero);
  const auto choose = [&](auto a, auto at_a, auto b_, auto at_b, auto c, auto at_c, auto otherwise) HWY_ATTR {
    const auto chosen = hn::IfThenElse(at_a, a, hn::IfThenElse(at_b, b_, hn::IfThenElse(at_c, c, otherwise)));
    return hn::IfThenElse(colourless, high, chosen);
  };
  r = choose(q, is(1), t, is(4), p, hn::Or(is(2), is(3)), high);
  g = choose(t, first, q, is(3), p, hn::Or(is(4), is(5)), high);
  b = choose(t, is(2), q, is(5), p, hn::Or(first, is(1)), high);
}

void shift_hue(int shift, const std::uint8_t* in, std::size_t pixels, std::uint8_t* out) {
  const hn::Rebind<std::int32_t, F64> i;
  const hn::Rebind<std::uint8_t, F64> du8;
  const std::size_t lanes = hn::Lanes(i);
  const auto some = [&](const std::uint8_t* from, std::uint8_t* to) HWY_ATTR {
    auto r8 = hn::Zero(du8), g8 = r8, b8 = r8;
    hn::LoadInterleaved3(du8, from, r8, g8, b8);
    auto r = hn::PromoteTo(i, r8), g = hn::PromoteTo(i, g8), b = hn::PromoteTo(i, b8);
    turn_hue(shift, r, g, b);
    hn::StoreInterleaved3(hn::DemoteTo(du8, r), hn::DemoteTo(du8, g), hn::DemoteTo(du8, b), du8, to);
  };
  std::size_t at = 0;
  for (; at + lanes <= pixels; at += lanes) some(in + 3 * at, out + 3 * at);
  if (at == pixels) return;
  std::array<std::uint8_t, 3 * 64> last{};
  const std::size_t bytes = 3 * (pixels - at);
  std::memcpy(last.data(), in + 3 * at, bytes);
  some(last.data(), last.data());
  std::memcpy(out + 3 * at, last.data(), bytes);
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
