#include "ridgeline/data/transform/jitter.h"

#include <fmt/format.h>

#include <utility>

#include "ridgeline/data/sample/step.h"
#include "ridgeline/data/transform/recolour.h"
#include "ridgeline/data/transform/rules.h"
#include "ridgeline/image/augment/blur.h"
#include "ridgeline/image/augment/colour_jitter.h"
#include "ridgeline/image/augment/enhance.h"

namespace ridgeline::data {

Transform ColorJitter(ColorJitterOptions options) {
  return {"color_jitter",
          {{"brightness", std::move(options.brightness.values)},
           {"contrast", std::move(options.contrast.values)},
           {"saturation", std::move(options.saturation.values)},
           {"hue", std::move(options.hue.values)}},
          ""};
}
Transform RandomColorAdjust(ColorJitterOptions options) { return ColorJitter(std::move(options)); }

Transform RandomBrightness(Range brightness) { return ColorJitter({.brightness = std::move(brightness)}); }
Transform RandomContrast(Range contrast) { return ColorJitter({.contrast = std::move(contrast)}); }
Transform RandomSaturation(Range saturation) { return ColorJitter({.saturation = std::move(saturation)}); }
Transform RandomHue(Range hue) { return ColorJitter({.hue = std::move(hue)}); }
Transform RandomSharpness(Range factor, double p) {
  return {"random_sharpness", {{"factor", std::move(factor.values)}, {"p", p}}, ""};
}

Transform GaussianBlur(Size kernel_size, GaussianBlurOptions options) {
  return {"gaussian_blur", {{"kernel_size", kernel_size.values}, {"sigma", std::move(options.sigma.values)}}, ""};
}

namespace {

// The draws of image::draw_colour_jitter.
class ColorJitterStep : public Step {
 public:
  ColorJitterStep(const Transform& t, std::uint64_t seed) : key_(philox_key(seed, t.name)) {
    const auto single = [&](const char* name) {
      const Reals& range = arg<Reals>(t.args, name);
      return range.size() == 1 ? range[0] : 0.0;
    };
    rule_ = image::colour_jitter_rule(single("brightness"), single("contrast"), single("saturation"), single("hue"));
    const auto range = [&](const char* name, image::Interval& interval) {
      if (const Reals& given = arg<Reals>(t.args, name); given.size() == 2) interval = {given[0], given[1]};
    };
    range("brightness", rule_.brightness);
    range("contrast", rule_.contrast);
    range("saturation", rule_.saturation);
    range("hue", rule_.hue);
    image::check_colour_jitter_rule(rule_);
  }
  void run(Frame& frame, Scratch&) const override {
    SampleRandom random = frame.random(key_);
    const image::ColourJitter jitter = image::draw_colour_jitter(rule_, random);
    recolour(frame,
             [&](const image::ImageView& in, std::uint8_t* out) { image::apply_colour_jitter(in, jitter, out); });
  }

 private:
  PhiloxKey key_;
  image::ColourJitterRule rule_;
};

// A double for p, then, of a range, one for the factor.
class RandomSharpnessStep : public Step {
 public:
  RandomSharpnessStep(const Transform& t, std::uint64_t seed)
      : key_(philox_key(seed, t.name)), factor_(arg<Reals>(t.args, "factor")), p_(arg<double>(t.args, "p")) {}
  void run(Frame& frame, Scratch&) const override {
    SampleRandom random = frame.random(key_);
    if (!(random.uniform() < p_)) return;
    const double factor = factor_.size() == 1 ? factor_[0] : random.uniform(factor_[0], factor_[1]);
    recolour(frame, [&](const image::ImageView& in, std::uint8_t* out) { image::adjust_sharpness(in, factor, out); });
  }

 private:
  PhiloxKey key_;
  Reals factor_;
  double p_;
};

// A double for the deviation, which is the same both ways; none where it is fixed.
class GaussianBlurStep : public Step {
 public:
  GaussianBlurStep(const Transform& t, std::uint64_t seed)
      : key_(philox_key(seed, t.name)), sigma_(arg<Reals>(t.args, "sigma")) {
    const Integers& kernel = arg<Integers>(t.args, "kernel_size");
    rule_ = {static_cast<int>(kernel.front()), static_cast<int>(kernel.back()), sigma_[0], sigma_[0]};
  }
  void run(Frame& frame, Scratch&) const override {
    image::BlurRule rule = rule_;
    if (sigma_.size() == 2) {
      SampleRandom random = frame.random(key_);
      rule.sigma_x = rule.sigma_y = random.uniform(sigma_[0], sigma_[1]);
    }
    recolour(frame, [&](const image::ImageView& in, std::uint8_t* out) { image::gaussian_blur(in, rule, out); });
  }

 private:
  PhiloxKey key_;
  Reals sigma_;
  image::BlurRule rule_;
};

// ---- rules

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

TransformEntry entry(const char* op, const char* doc, std::vector<ArgSpec> args, void (*check)(const Transform&),
                     std::unique_ptr<Step> (*step)(const Transform&, std::uint64_t)) {
  return {.op = op,
          .doc = doc,
          .args = std::move(args),
          .random = true,
          .check = check,
          .schema = each(pixels_of),
          .step = step};
}

}  // namespace

std::vector<TransformEntry> jitter_transforms() {
  return {
      entry("color_jitter", "changes brightness, contrast, saturation and hue by random factors in random order",
            {jitter_arg("brightness", "[x]: factors from max(0, 1 - x) to 1 + x; or [smallest, largest]; empty: none"),
             jitter_arg("contrast", "as brightness"), jitter_arg("saturation", "as brightness"),
             jitter_arg("hue", "[x]: -x to x of the colour circle, at most 0.5; or [smallest, largest]; empty: none")},
            check_jitter, seeded_step<ColorJitterStep>),
      entry("random_sharpness", "changes the sharpness: a blend with the smoothed image",
            {{.name = "factor",
              .type = ArgType::reals,
              .doc = "[factor] or [smallest, largest]: 0: smoothed, 1: the image, above 1: sharper"},
             p_arg()},
            check_sharpness, seeded_step<RandomSharpnessStep>),
      entry("gaussian_blur", "Gaussian blur with a random standard deviation",
            {{.name = "kernel_size", .type = ArgType::integers, .doc = "[side] or [height, width] of the window, odd"},
             {.name = "sigma",
              .type = ArgType::reals,
              .doc = "[standard deviation] or [smallest, largest] in pixels",
              .fallback = Reals{0.1, 2.0}}},
            check_blur, seeded_step<GaussianBlurStep>),
  };
}

}  // namespace ridgeline::data
