#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ridgeline/data/ir/transforms/entries.h"

namespace ridgeline::data {
namespace {

using Check = std::function<void(const Transform&)>;

// One number of torchvision's ColorJitter or a range.
ArgSpec jitter_arg(const char* name, const char* doc) {
  return {.name = name, .type = ArgType::reals, .doc = doc, .fallback = Reals{}};
}

void check_jitter(const Transform& t) {
  for (const char* name : {"brightness", "contrast", "saturation", "hue"}) {
    check_count(t, name, {0, 1, 2});
    const Reals& range = arg<Reals>(t.args, name);
    const bool hue = std::string_view(name) == "hue";
    check_reals(t, name, hue && range.size() == 2 ? -0.5 : 0);
    if (range.size() == 2 && range[0] > range[1])
      throw Error(fmt::format("[{}] {} goes from {} down to {}", t.op, name, range[0], range[1]));
    for (const double value : range) {
      if (hue) check_between(t, name, value, -0.5, 0.5);
    }
  }
}

void check_blur(const Transform& t) {
  check_count(t, "kernel_size", {1, 2});
  check_count(t, "sigma", {1, 2});
  const Integers& kernel = arg<Integers>(t.args, "kernel_size");
  const Reals& sigma = arg<Reals>(t.args, "sigma");
  for (const std::int64_t side : kernel) {
    if (side < 1 || side > 1023 || side % 2 == 0)
      throw Error(fmt::format("[{}] kernel_size is {}, sides must be odd and 1 to 1023", t.op, side));
  }
  for (const double s : sigma) {
    if (s <= 0) throw Error(fmt::format("[{}] sigma is {}, it must be positive", t.op, s));
  }
  if (sigma.front() > sigma.back())
    throw Error(fmt::format("[{}] sigma goes from {} down to {}", t.op, sigma[0], sigma[1]));
}

void check_sharpness(const Transform& t) {
  check_probability(t);
  check_count(t, "factor", {1, 2});
  check_reals(t, "factor", 0);
  const Reals& factor = arg<Reals>(t.args, "factor");
  if (factor.front() > factor.back())
    throw Error(fmt::format("[{}] factor goes from {} down to {}", t.op, factor[0], factor[1]));
}

TransformEntry entry(const char* op, const char* doc, std::vector<ArgSpec> args, Check check = check_probability) {
  return {.op = op,
          .doc = doc,
          .args = std::move(args),
          .random = true,
          .check = std::move(check),
          .schema = each(pixels_of)};
}

}  // namespace

std::vector<TransformEntry> random_colour_entries() {
  return {
      entry("color_jitter", "brightness, contrast, saturation and hue by random factors in random order",
            {jitter_arg("brightness", "[x]: factors from max(0, 1 - x) to 1 + x; or [least, most]; empty: none"),
             jitter_arg("contrast", "as brightness"), jitter_arg("saturation", "as brightness"),
             jitter_arg("hue", "[x]: -x to x of the circle, at most 0.5; or [least, most]; empty: none")},
            check_jitter),
      entry("random_grayscale", "luma in all channels", {p_arg(0.1)}),
      entry("random_invert", "255 - v", {p_arg()}),
      entry("random_posterize", "keeps the upper bits",
            {{.name = "bits", .type = ArgType::integer, .doc = "upper bits that stay, 0 to 8"}, p_arg()},
            [](const Transform& t) {
              check_probability(t);
              check_between(t, "bits", static_cast<double>(arg<std::int64_t>(t.args, "bits")), 0, 8);
            }),
      entry("random_solarize", "inverts bright values",
            {{.name = "threshold", .type = ArgType::real, .doc = "least value that is inverted, 0 to 255"}, p_arg()},
            [](const Transform& t) {
              check_probability(t);
              check_between(t, "threshold", arg<double>(t.args, "threshold"), 0, 255);
            }),
      entry("random_autocontrast", "stretches each channel to 0..255", {p_arg()}),
      entry("random_equalize", "spreads each channel's histogram evenly", {p_arg()}),
      entry("random_sharpness", "a blend with the smoothed image",
            {{.name = "factor",
              .type = ArgType::reals,
              .doc = "[factor] or [least, most]: 0 smoothed, 1 the image, more: sharper"},
             p_arg()},
            check_sharpness),
      entry("gaussian_blur", "blurs with a random deviation",
            {{.name = "kernel_size", .type = ArgType::integers, .doc = "[side] or [height, width] of the window, odd"},
             {.name = "sigma",
              .type = ArgType::reals,
              .doc = "[deviation] or [least, most] in pixels",
              .fallback = Reals{0.1, 2.0}}},
            check_blur),
  };
}

}  // namespace ridgeline::data
