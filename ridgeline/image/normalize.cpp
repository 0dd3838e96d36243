#include "ridgeline/image/normalize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "ridgeline/core/error.h"
#include "ridgeline/image/pixels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/image/normalize.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ridgeline::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// out[i] = table[(i % 3) * 256 + in[i]]. The table is the law, so every target gives its bits.
void table_row(const float* HWY_RESTRICT table, const std::uint8_t* HWY_RESTRICT in, std::size_t n,
               float* HWY_RESTRICT out) {
  std::size_t i = 0;
#if HWY_TARGET <= HWY_AVX2
  // Three vectors hold a whole number of pixels whatever the width: their channel patterns repeat.
  const hn::ScalableTag<float> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::Rebind<std::uint8_t, decltype(df)> du8;
  const std::size_t lanes = hn::Lanes(df);
  HWY_ALIGN std::int32_t channel_start[3 * hn::MaxLanes(di)];
  for (std::size_t k = 0; k < 3 * lanes; ++k) channel_start[k] = static_cast<std::int32_t>(k % 3) * 256;
  const auto start0 = hn::Load(di, channel_start);
  const auto start1 = hn::Load(di, channel_start + lanes);
  const auto start2 = hn::Load(di, channel_start + 2 * lanes);
  for (; i + 3 * lanes <= n; i += 3 * lanes) {
    const auto v0 = hn::PromoteTo(di, hn::LoadU(du8, in + i));
    const auto v1 = hn::PromoteTo(di, hn::LoadU(du8, in + i + lanes));
    const auto v2 = hn::PromoteTo(di, hn::LoadU(du8, in + i + 2 * lanes));
    hn::StoreU(hn::GatherIndex(df, table, hn::Add(v0, start0)), df, out + i);
    hn::StoreU(hn::GatherIndex(df, table, hn::Add(v1, start1)), df, out + i + lanes);
    hn::StoreU(hn::GatherIndex(df, table, hn::Add(v2, start2)), df, out + i + 2 * lanes);
  }
#endif
  for (; i < n; i += 3) {
    out[i] = table[in[i]];
    out[i + 1] = table[256 + in[i + 1]];
    out[i + 2] = table[512 + in[i + 2]];
  }
}

// The same by arithmetic: out[i] = f32(in[i] * scale[i % 3] + offset[i % 3]), in f64. A look-up by vector takes about
// three times as long. Only for tables that were found to be equal to it in every entry.
void line_row(const double* HWY_RESTRICT scale, const double* HWY_RESTRICT offset, const std::uint8_t* HWY_RESTRICT in,
              std::size_t n, float* HWY_RESTRICT out) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<double> d64;
  const hn::Rebind<float, decltype(d64)> df;
  const hn::Rebind<std::int32_t, decltype(d64)> di;
  const hn::Rebind<std::uint8_t, decltype(d64)> du8;
  const std::size_t lanes = hn::Lanes(d64);
  HWY_ALIGN double pattern[6 * hn::MaxLanes(d64)];
  for (std::size_t k = 0; k < 3 * lanes; ++k) {
    pattern[k] = scale[k % 3];
    pattern[3 * lanes + k] = offset[k % 3];
  }
  const auto s0 = hn::Load(d64, pattern), s1 = hn::Load(d64, pattern + lanes), s2 = hn::Load(d64, pattern + 2 * lanes);
  const double* offsets = pattern + 3 * lanes;
  const auto o0 = hn::Load(d64, offsets), o1 = hn::Load(d64, offsets + lanes), o2 = hn::Load(d64, offsets + 2 * lanes);
  const auto line = [&](std::size_t at, auto s, auto o) HWY_ATTR {
    const auto v = hn::PromoteTo(d64, hn::PromoteTo(di, hn::LoadU(du8, in + at)));
    hn::StoreU(hn::DemoteTo(df, hn::Add(hn::Mul(v, s), o)), df, out + at);
  };
  for (; i + 3 * lanes <= n; i += 3 * lanes) {
    line(i, s0, o0);
    line(i + lanes, s1, o1);
    line(i + 2 * lanes, s2, o2);
  }
#endif
  for (; i < n; ++i) out[i] = static_cast<float>(in[i] * scale[i % 3] + offset[i % 3]);
}

// line_row to three planes.
void line_planar_row(const double* HWY_RESTRICT scale, const double* HWY_RESTRICT offset,
                     const std::uint8_t* HWY_RESTRICT in, std::size_t width, float* HWY_RESTRICT out,
                     std::size_t plane) {
  std::size_t x = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<double> d64;
  const hn::Rebind<float, decltype(d64)> df;
  const hn::Rebind<std::int32_t, decltype(d64)> di;
  const hn::Rebind<std::uint8_t, decltype(d64)> du8;
  const std::size_t lanes = hn::Lanes(d64);
  const auto plane_of = [&](int c, std::size_t at, auto v) HWY_ATTR {
    const auto wide = hn::PromoteTo(d64, hn::PromoteTo(di, v));
    const auto line = hn::Add(hn::Mul(wide, hn::Set(d64, scale[c])), hn::Set(d64, offset[c]));
    hn::StoreU(hn::DemoteTo(df, line), df, out + static_cast<std::size_t>(c) * plane + at);
  };
  for (; x + lanes <= width; x += lanes) {
    auto red = hn::Zero(du8), green = red, blue = red;
    hn::LoadInterleaved3(du8, in + 3 * x, red, green, blue);
    plane_of(0, x, red);
    plane_of(1, x, green);
    plane_of(2, x, blue);
  }
#endif
  for (; x < width; ++x) {
    for (std::size_t c = 0; c < 3; ++c) out[c * plane + x] = static_cast<float>(in[3 * x + c] * scale[c] + offset[c]);
  }
}

}  // namespace ridgeline::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::image {

HWY_EXPORT(table_row);
HWY_EXPORT(line_row);
HWY_EXPORT(line_planar_row);

NormalizeTable::NormalizeTable(const std::array<double, 3>& mean, const std::array<double, 3>& std) {
  for (std::size_t c = 0; c < 3; ++c) {
    if (!(std[c] > 0) || !std::isfinite(std[c]) || !std::isfinite(mean[c])) {
      throw Error("[normalize] mean must be finite and std positive, not " + std::to_string(mean[c]) + " and " +
                  std::to_string(std[c]));
    }
    const double centre = 255.0 * mean[c], width = 255.0 * std[c];
    scale_[c] = 1 / width;
    offset_[c] = -centre / width;
    for (int v = 0; v < 256; ++v) {
      const auto entry = static_cast<float>((v - centre) / width);
      table_[c * 256 + static_cast<std::size_t>(v)] = entry;
      is_line_ = is_line_ && std::bit_cast<std::uint32_t>(static_cast<float>(v * scale_[c] + offset_[c])) ==
                                 std::bit_cast<std::uint32_t>(entry);
    }
  }
}

namespace {

// Calls use(pixels, width, at) for the row's parts from left to right; mirrored ones lie in a buffer of their own.
template <class Use>
void for_parts(const std::uint8_t* in, std::size_t width, bool flip, Use&& use) {
  if (!flip) return use(in, width, std::size_t{0});
  constexpr std::size_t kChunk = 128;
  std::array<std::uint8_t, 3 * kChunk> mirrored;
  for (std::size_t x = 0; x < width; x += kChunk) {
    const std::size_t count = std::min(kChunk, width - x);
    mirror_rgb(in + 3 * (width - x - count), count, mirrored.data());
    use(mirrored.data(), count, x);
  }
}

}  // namespace

void NormalizeTable::row(const std::uint8_t* in, std::size_t width, bool flip, float* out) const {
  for_parts(in, width, flip, [&](const std::uint8_t* part, std::size_t count, std::size_t at) {
    if (is_line_) {
      HWY_DYNAMIC_DISPATCH(line_row)(scale_.data(), offset_.data(), part, 3 * count, out + 3 * at);
    } else {
      HWY_DYNAMIC_DISPATCH(table_row)(table_.data(), part, 3 * count, out + 3 * at);
    }
  });
}

void NormalizeTable::planar_row(const std::uint8_t* in, std::size_t width, bool flip, float* out,
                                std::size_t plane) const {
  for_parts(in, width, flip, [&](const std::uint8_t* part, std::size_t count, std::size_t at) {
    if (is_line_) {
      HWY_DYNAMIC_DISPATCH(line_planar_row)(scale_.data(), offset_.data(), part, count, out + at, plane);
      return;
    }
    for (int c = 0; c < 3; ++c) {
      float* to = out + static_cast<std::size_t>(c) * plane + at;
      for (std::size_t x = 0; x < count; ++x) to[x] = this->at(c, part[3 * x + static_cast<std::size_t>(c)]);
    }
  });
}

void NormalizeTable::tail(const ImageView& image, bool flip, float* out) const {
  RIDGELINE_CHECK(image.channels == 3, "the tail takes RGB");
  const auto width = static_cast<std::size_t>(image.width);
  for (int y = 0; y < image.height; ++y) row(image.row(y), width, flip, out + static_cast<std::size_t>(y) * 3 * width);
}

}  // namespace ridgeline::image
#endif  // HWY_ONCE
