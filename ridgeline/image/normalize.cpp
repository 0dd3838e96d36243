#include "ridgeline/image/normalize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include <hwy/cache_control.h>

#include "ridgeline/core/error.h"
#include "ridgeline/image/pixels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/image/normalize.cpp"
#include "ridgeline/image/long_vectors.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ridgeline::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Table = NormalizeTable::Table;
using Line = NormalizeTable::Line;

// out[i] = table[(i % 3) * 256 + in[i]]. The table is the definition, so every target gives its bits.
void table_row(const Table& table, const std::uint8_t* HWY_RESTRICT in, std::size_t n, float* HWY_RESTRICT out) {
  std::size_t i = 0;
#if HWY_TARGET <= HWY_AVX2
  // Three vectors hold an integral number of pixels whatever the width: their channel patterns repeat.
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
    hn::StoreU(hn::GatherIndex(df, table.data(), hn::Add(v0, start0)), df, out + i);
    hn::StoreU(hn::GatherIndex(df, table.data(), hn::Add(v1, start1)), df, out + i + lanes);
    hn::StoreU(hn::GatherIndex(df, table.data(), hn::Add(v2, start2)), df, out + i + 2 * lanes);
  }
#endif
  for (; i < n; i += 3) {
    out[i] = table[in[i]];
    out[i + 1] = table[256 + in[i + 1]];
    out[i + 2] = table[512 + in[i + 2]];
  }
}

#if HWY_NATIVE_FMA
// NormalizeTable::Line for a vector of bytes.
template <class DF, class V, class F>
HWY_INLINE hn::Vec<DF> line(DF df, V bytes, F centre, F high, F low, F rest) {
  const hn::RebindToSigned<DF> di;
  const auto d = hn::Sub(hn::ConvertTo(df, hn::PromoteTo(di, bytes)), centre);
  return hn::MulAdd(d, high, hn::MulAdd(d, low, rest));
}

template <bool streamed, class DF>
HWY_INLINE void store(DF df, hn::Vec<DF> v, float* out) {
  if constexpr (streamed) {
    hn::Stream(v, df, out);
  } else {
    hn::StoreU(v, df, out);
  }
}

template <class DF>
bool aligned(DF df, const float* out) {
  return reinterpret_cast<std::uintptr_t>(out) % (hn::Lanes(df) * sizeof(float)) == 0;
}
#endif

// The same by arithmetic, for tables whose every entry is found to be equal to it: a look-up by vector takes several
// times as long. Targets without fused multiply-add look up.
template <bool streamed>
void line_row_as([[maybe_unused]] const Line& of, const Table& table, const std::uint8_t* HWY_RESTRICT in,
                 std::size_t n, float* HWY_RESTRICT out) {
  std::size_t i = 0;
#if HWY_NATIVE_FMA
  const hn::ScalableTag<float> df;
  const hn::Rebind<std::uint8_t, decltype(df)> du8;
  const std::size_t lanes = hn::Lanes(df);
  static_assert(3 * hn::MaxLanes(df) <= Line::kRepeated);
  const auto part = [&](const auto& of_lanes, std::size_t at)
                        HWY_ATTR { return hn::LoadU(df, of_lanes.data() + at * lanes); };
  const auto c0 = part(of.centre, 0), h0 = part(of.high, 0), l0 = part(of.low, 0), r0 = part(of.rest, 0);
  const auto c1 = part(of.centre, 1), h1 = part(of.high, 1), l1 = part(of.low, 1), r1 = part(of.rest, 1);
  const auto c2 = part(of.centre, 2), h2 = part(of.high, 2), l2 = part(of.low, 2), r2 = part(of.rest, 2);
  for (; i + 3 * lanes <= n; i += 3 * lanes) {
    store<streamed>(df, line(df, hn::LoadU(du8, in + i), c0, h0, l0, r0), out + i);
    store<streamed>(df, line(df, hn::LoadU(du8, in + i + lanes), c1, h1, l1, r1), out + i + lanes);
    store<streamed>(df, line(df, hn::LoadU(du8, in + i + 2 * lanes), c2, h2, l2, r2), out + i + 2 * lanes);
  }
#endif
  for (; i < n; ++i) out[i] = table[(i % 3) * 256 + in[i]];
}

void line_row(const Line& of, const Table& table, const std::uint8_t* in, std::size_t n, float* out,
              [[maybe_unused]] bool streamed) {
#if HWY_NATIVE_FMA
  if (streamed && aligned(hn::ScalableTag<float>(), out)) return line_row_as<true>(of, table, in, n, out);
#endif
  line_row_as<false>(of, table, in, n, out);
}

// line_row to three planes.
template <bool streamed>
void line_planar_row_as([[maybe_unused]] const Line& of, const Table& table, const std::uint8_t* HWY_RESTRICT in,
                        std::size_t width, float* HWY_RESTRICT out, std::size_t plane) {
  std::size_t x = 0;
#if HWY_NATIVE_FMA
  const hn::ScalableTag<float> df;
  const hn::Rebind<std::uint8_t, decltype(df)> du8;
  const std::size_t lanes = hn::Lanes(df);
  const auto plane_of = [&](std::size_t c, std::size_t at, auto v) HWY_ATTR {
    const auto centre = hn::Set(df, of.centre[c]), high = hn::Set(df, of.high[c]);
    const auto low = hn::Set(df, of.low[c]), rest = hn::Set(df, of.rest[c]);
    store<streamed>(df, line(df, v, centre, high, low, rest), out + c * plane + at);
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
    for (std::size_t c = 0; c < 3; ++c) out[c * plane + x] = table[c * 256 + in[3 * x + c]];
  }
}

void line_planar_row(const Line& of, const Table& table, const std::uint8_t* in, std::size_t width, float* out,
                     std::size_t plane, [[maybe_unused]] bool streamed) {
#if HWY_NATIVE_FMA
  const hn::ScalableTag<float> df;
  if (streamed && plane % hn::Lanes(df) == 0 && aligned(df, out))
    return line_planar_row_as<true>(of, table, in, width, out, plane);
#endif
  line_planar_row_as<false>(of, table, in, width, out, plane);
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
    const double scale = 1 / width;
    // Steps of 2^-16 are exact in v - centre; the remainder of the mean is in `rest`.
    line_.centre[c] = static_cast<float>(std::nearbyint(centre * 65536) / 65536);
    line_.high[c] = static_cast<float>(scale);
    line_.low[c] = static_cast<float>(scale - line_.high[c]);
    line_.rest[c] = static_cast<float>((line_.centre[c] - centre) * scale);
    for (int v = 0; v < 256; ++v) {
      const auto entry = static_cast<float>((v - centre) / width);
      table_[c * 256 + static_cast<std::size_t>(v)] = entry;
      const float d = static_cast<float>(v) - line_.centre[c];
      const float by_line = std::fma(d, line_.high[c], std::fma(d, line_.low[c], line_.rest[c]));
      is_line_ = is_line_ && std::bit_cast<std::uint32_t>(by_line) == std::bit_cast<std::uint32_t>(entry);
    }
  }
  for (auto* of_channels : {&line_.centre, &line_.high, &line_.low, &line_.rest}) {
    for (std::size_t i = 3; i < Line::kRepeated; ++i) (*of_channels)[i] = (*of_channels)[i - 3];
  }
}

namespace {

// Calls use(pixels, width, at) for the row's pieces from left to right; mirrored ones are in a separate buffer.
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

void finish_streamed() { hwy::FlushStream(); }

void NormalizeTable::row(const std::uint8_t* in, std::size_t width, bool flip, float* out, Stores stores) const {
  const bool streamed = stores == Stores::streamed;
  for_parts(in, width, flip, [&](const std::uint8_t* part, std::size_t count, std::size_t at) {
    if (is_line_) {
      HWY_DYNAMIC_DISPATCH(line_row)(line_, table_, part, 3 * count, out + 3 * at, streamed);
    } else {
      HWY_DYNAMIC_DISPATCH(table_row)(table_, part, 3 * count, out + 3 * at);
    }
  });
}

void NormalizeTable::planar_row(const std::uint8_t* in, std::size_t width, bool flip, float* out, std::size_t plane,
                                Stores stores) const {
  const bool streamed = stores == Stores::streamed;
  for_parts(in, width, flip, [&](const std::uint8_t* part, std::size_t count, std::size_t at) {
    if (is_line_) {
      HWY_DYNAMIC_DISPATCH(line_planar_row)(line_, table_, part, count, out + at, plane, streamed);
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
