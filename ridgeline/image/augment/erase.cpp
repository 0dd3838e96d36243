#include "ridgeline/image/augment/erase.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "ridgeline/core/error.h"
#include "ridgeline/core/math.h"
#include "ridgeline/image/geometry.h"

namespace ridgeline::image {
namespace {

constexpr int kAttempts = 10;  // torchvision's

void check_box(Size image, int channels, const Box& box) {
  const bool inside = box.top >= 0 && box.left >= 0 && box.height >= 0 && box.width >= 0 &&
                      box.top <= image.height - box.height && box.left <= image.width - box.width;
  if (!inside) {
    throw Error("[erase] rows " + std::to_string(box.top) + "+" + std::to_string(box.height) + ", columns " +
                std::to_string(box.left) + "+" + std::to_string(box.width) + " are not inside an image of " +
                std::to_string(image.height) + "x" + std::to_string(image.width));
  }
  if (channels != 1 && channels != 3) {
    throw Error("[erase] needs 1 or 3 channels, not " + std::to_string(channels));
  }
}

// value(channel) for each value of the box, in the order of memory.
template <class T, class Value>
void fill_box(T* data, Size image, int channels, const Box& box, Value value) {
  check_box(image, channels, box);
  const auto n = static_cast<std::size_t>(channels);
  for (int y = box.top; y < box.top + box.height; ++y) {
    T* p =
        data +
        (static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) + static_cast<std::size_t>(box.left)) * n;
    for (int x = 0; x < box.width; ++x) {
      for (std::size_t c = 0; c < n; ++c) *p++ = value(c);
    }
  }
}

}  // namespace

void check_erasing_rule(const ErasingRule& rule) {
  const bool good = rule.scale_low >= 0 && rule.scale_low <= rule.scale_high && rule.scale_high <= 1 &&
                    rule.ratio_low > 0 && rule.ratio_low <= rule.ratio_high && std::isfinite(rule.ratio_high);
  if (good) return;
  throw Error("[random_erasing] needs 0 <= scale low <= high <= 1 and 0 < ratio low <= high; got scale (" +
              std::to_string(rule.scale_low) + ", " + std::to_string(rule.scale_high) + "), ratio (" +
              std::to_string(rule.ratio_low) + ", " + std::to_string(rule.ratio_high) + ")");
}

std::optional<Box> draw_erasing_box(Size image, const ErasingRule& rule, SampleRandom& random) {
  check_erasing_rule(rule);
  const double area = static_cast<double>(image.height) * image.width;
  const double log_low = portable_log(rule.ratio_low), log_high = portable_log(rule.ratio_high);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const double target = area * random.uniform(rule.scale_low, rule.scale_high);
    const double ratio = portable_exp(random.uniform(log_low, log_high));
    const double rows = std::sqrt(target * ratio), columns = std::sqrt(target / ratio);
    if (!(rows < 1e9 && columns < 1e9)) continue;
    const int height = round_half_even(rows), width = round_half_even(columns);
    if (height >= image.height || width >= image.width) continue;
    const int top = static_cast<int>(random.integer(0, image.height - height));
    const int left = static_cast<int>(random.integer(0, image.width - width));
    return Box{top, left, height, width};
  }
  return std::nullopt;
}

Box draw_cutout_box(Size image, int side, SampleRandom& random, CutoutRule rule) {
  const bool mindata = rule == CutoutRule::mindata;
  const int most = mindata ? std::min(image.height, image.width) : 1 << 20;
  if (side < 1 || side > most) {
    throw Error("[cutout] the side must be 1 to " + std::to_string(most) + " pixels, not " + std::to_string(side));
  }
  const int low = mindata ? -side : 0, shift = mindata ? 0 : side / 2, length = mindata ? side : 2 * (side / 2);
  const auto span = [&](int n) {
    const int begin = static_cast<int>(random.integer(low, mindata ? n : n - 1)) - shift;
    return std::pair(std::clamp(begin, 0, n), std::clamp(begin + length, 0, n));
  };
  const auto [top, bottom] = span(image.height);
  const auto [left, right] = span(image.width);
  return {top, left, bottom - top, right - left};
}

void erase(std::uint8_t* data, Size image, int channels, const Box& box, Colour value) {
  fill_box(data, image, channels, box, [&](std::size_t c) { return value[c]; });
}

void erase_with_noise(std::uint8_t* data, Size image, int channels, const Box& box, SampleRandom& random) {
  fill_box(data, image, channels, box, [&](std::size_t) { return static_cast<std::uint8_t>(random.bits() >> 24); });
}

void erase(float* data, Size image, int channels, const Box& box, const std::array<float, 3>& value) {
  fill_box(data, image, channels, box, [&](std::size_t c) { return value[c]; });
}

void erase_with_noise(float* data, Size image, int channels, const Box& box, SampleRandom& random) {
  fill_box(data, image, channels, box, [&](std::size_t) { return static_cast<float>(random.normal()); });
}

}  // namespace ridgeline::image
