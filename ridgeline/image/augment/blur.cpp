#include "ridgeline/image/augment/blur.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ridgeline/core/math.h"
#include "ridgeline/image/augment/blur_rows.h"
#include "ridgeline/image/augment/border.h"
#include "ridgeline/image/geometry.h"
#include "ridgeline/image/pixel_rows.h"

namespace ridgeline::image {
namespace {

std::vector<float> weights(int kernel, double sigma) {
  const int centre = kernel / 2;
  std::vector<double> value;
  double sum = 0;
  for (int k = 0; k < kernel; ++k) {
    const double x = (k - centre) / sigma;
    value.push_back(portable_exp(-0.5 * x * x));
    sum += value.back();
  }
  std::vector<float> result;
  result.reserve(value.size());
  for (const double v : value) result.push_back(static_cast<float>(v / sum));
  return result;
}

}  // namespace

BlurRule blur_rule(int kernel) {
  const double sigma = kernel * 0.15 + 0.35;
  return {kernel, kernel, sigma, sigma};
}

void check_blur_rule(const BlurRule& rule) {
  for (const int kernel : {rule.kernel_height, rule.kernel_width}) {
    if (kernel < 1 || kernel > 1023 || kernel % 2 == 0) {
      throw Error("[gaussian_blur] the window's sides must be odd and 1 to 1023, not " + std::to_string(kernel));
    }
  }
  for (const double sigma : {rule.sigma_y, rule.sigma_x}) {
    if (!(sigma > 0) || !std::isfinite(sigma)) {
      throw Error("[gaussian_blur] the deviation must be positive, not " + std::to_string(sigma));
    }
  }
}

void gaussian_blur(const ImageView& in, const BlurRule& rule, std::uint8_t* out) {
  check_pixels("gaussian_blur", in);
  check_blur_rule(rule);
  const std::vector<float> across = weights(rule.kernel_width, rule.sigma_x);
  const std::vector<float> down = weights(rule.kernel_height, rule.sigma_y);
  const auto channels = static_cast<std::size_t>(in.channels);
  const std::size_t bytes = row_bytes(in);
  const int half_width = rule.kernel_width / 2, half_height = rule.kernel_height / 2;
  std::vector<float> padded((static_cast<std::size_t>(in.width) + across.size() - 1) * channels);
  // Rows that are blurred across: a window's height of them, or all.
  const int kept = std::min(in.height, rule.kernel_height);
  std::vector<float> rows(bytes * static_cast<std::size_t>(kept));
  const auto row_of = [&](int y) { return rows.data() + static_cast<std::size_t>(y % kept) * bytes; };
  std::vector<const float*> window(down.size());
  int made = 0;
  for (int y = 0; y < in.height; ++y, out += bytes) {
    for (; made < std::min(in.height, y + half_height + 1); ++made) {
      const auto mirror = [&](int begin, int end) {
        for (int x = begin; x < end; ++x) {
          const std::uint8_t* p = in.pixel(made, source_position(BorderMode::reflect, x, in.width));
          std::copy_n(p, channels, padded.data() + static_cast<std::size_t>(x + half_width) * channels);
        }
      };
      mirror(-half_width, 0);
      blur_widen(in.row(made), bytes, padded.data() + static_cast<std::size_t>(half_width) * channels);
      mirror(in.width, in.width + half_width);
      blur_across(across, padded.data(), channels, bytes, row_of(made));
    }
    for (std::size_t k = 0; k < down.size(); ++k)
      window[k] = row_of(source_position(BorderMode::reflect, y + static_cast<int>(k) - half_height, in.height));
    blur_down(down, window.data(), bytes, out);
  }
}

}  // namespace ridgeline::image
