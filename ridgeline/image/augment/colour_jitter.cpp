#include "ridgeline/image/augment/colour_jitter.h"

#include <algorithm>

#include "ridgeline/image/augment/colour.h"
#include "ridgeline/image/augment/enhance.h"
#include "ridgeline/image/pixel_rows.h"

namespace ridgeline::image {
namespace {

constexpr const char* kStepNames[] = {"brightness", "contrast", "saturation", "hue"};

std::array<Interval, 4> ranges(const ColourJitterRule& rule) {
  return {rule.brightness, rule.contrast, rule.saturation, rule.hue};
}

void apply_step(ColourStep step, const ImageView& in, double factor, std::uint8_t* out) {
  switch (step) {
    case ColourStep::brightness: return adjust_brightness(in, factor, out);
    case ColourStep::contrast: return adjust_contrast(in, factor, out);
    case ColourStep::saturation: return adjust_saturation(in, factor, out);
    case ColourStep::hue: return adjust_hue(in, factor, out);
  }
}

}  // namespace

ColourJitterRule colour_jitter_rule(double brightness, double contrast, double saturation, double hue) {
  for (const double x : {brightness, contrast, saturation, hue}) {
    if (!(x >= 0)) throw Error("[color_jitter] a single number must not be negative, got " + std::to_string(x));
  }
  const auto around_one = [](double x) { return Interval{std::max(0.0, 1 - x), 1 + x}; };
  const ColourJitterRule rule{around_one(brightness), around_one(contrast), around_one(saturation), {-hue, hue}};
  check_colour_jitter_rule(rule);
  return rule;
}

void check_colour_jitter_rule(const ColourJitterRule& rule) {
  for (std::size_t i = 0; i < 4; ++i) {
    const bool hue = i == 3;
    const Interval range = ranges(rule)[i];
    const bool good = range.low >= (hue ? -0.5 : 0.0) && range.low <= range.high &&
                      (hue ? range.high <= 0.5 : std::isfinite(range.high));
    if (good) continue;
    throw Error(std::string("[color_jitter] ") + kStepNames[i] + " must be a range low <= high " +
                (hue ? "within -0.5 to 0.5" : "of numbers that are not negative") + ", not (" +
                std::to_string(range.low) + ", " + std::to_string(range.high) + ")");
  }
}

ColourJitter draw_colour_jitter(const ColourJitterRule& rule, SampleRandom& random) {
  ColourJitter jitter{{ColourStep::brightness, ColourStep::contrast, ColourStep::saturation, ColourStep::hue}, {}};
  for (std::size_t i = 3; i > 0; --i) {
    std::swap(jitter.order[i], jitter.order[static_cast<std::size_t>(random.integer(0, static_cast<int>(i)))]);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    const Interval range = ranges(rule)[i];
    const double neutral = i == 3 ? 0 : 1;
    if (range.low == neutral && range.high == neutral) continue;
    jitter.factor[i] = random.uniform(range.low, range.high);
  }
  return jitter;
}

void apply_colour_jitter(const ImageView& in, const ColourJitter& jitter, std::uint8_t* out) {
  check_pixels("color_jitter", in);
  ImageView now = in;
  for (const ColourStep step : jitter.order) {
    const std::optional<double> factor = jitter.factor[static_cast<std::size_t>(step)];
    if (!factor) continue;
    apply_step(step, now, *factor, out);
    now = {out, in.height, in.width, in.channels, static_cast<std::ptrdiff_t>(row_bytes(in))};
  }
  copy_pixels(now, out);
}

}  // namespace ridgeline::image
