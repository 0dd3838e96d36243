#include "ridgeline/image/normalize.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "ridgeline/core/error.h"

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

}  // namespace ridgeline::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::image {

HWY_EXPORT(table_row);

NormalizeTable::NormalizeTable(const std::array<double, 3>& mean, const std::array<double, 3>& std) {
  for (std::size_t c = 0; c < 3; ++c) {
    if (!(std[c] > 0) || !std::isfinite(std[c]) || !std::isfinite(mean[c])) {
      throw Error("[normalize] mean must be finite and std positive, not " + std::to_string(mean[c]) + " and " +
                  std::to_string(std[c]));
    }
    const double centre = 255.0 * mean[c], width = 255.0 * std[c];
    for (int v = 0; v < 256; ++v) {
      table_[c * 256 + static_cast<std::size_t>(v)] = static_cast<float>((v - centre) / width);
    }
  }
}

void NormalizeTable::tail(const ImageView& image, bool flip, float* out) const {
  RIDGELINE_CHECK(image.channels == 3, "the tail takes RGB");
  const std::size_t n = static_cast<std::size_t>(image.width) * 3;
  for (int y = 0; y < image.height; ++y, out += n) {
    const std::uint8_t* in = image.row(y);
    if (!flip) {
      HWY_DYNAMIC_DISPATCH(table_row)(table_.data(), in, n, out);
      continue;
    }
    std::array<std::uint8_t, 3 * 128> mirrored;
    const std::uint8_t* pixel = in + n;
    for (std::size_t i = 0; i < n; i += mirrored.size()) {
      const std::size_t count = std::min(mirrored.size(), n - i);
      for (std::size_t k = 0; k < count; k += 3) {
        pixel -= 3;
        mirrored[k] = pixel[0];
        mirrored[k + 1] = pixel[1];
        mirrored[k + 2] = pixel[2];
      }
      HWY_DYNAMIC_DISPATCH(table_row)(table_.data(), mirrored.data(), count, out + i);
    }
  }
}

}  // namespace ridgeline::image
#endif  // HWY_ONCE
