#include "ridgeline/data/transform/colour.h"

#include <fmt/format.h>

#include <functional>
#include <utility>

#include "ridgeline/data/sample/step.h"
#include "ridgeline/data/transform/recolour.h"
#include "ridgeline/data/transform/rules.h"
#include "ridgeline/image/augment/colour.h"
#include "ridgeline/image/augment/enhance.h"
#include "ridgeline/image/augment/tone.h"

namespace ridgeline::data {

Transform AdjustBrightness(double factor) { return {"adjust_brightness", {{"factor", factor}}, ""}; }
Transform AdjustContrast(double factor) { return {"adjust_contrast", {{"factor", factor}}, ""}; }
Transform AdjustSaturation(double factor) { return {"adjust_saturation", {{"factor", factor}}, ""}; }
Transform AdjustSharpness(double factor) { return {"adjust_sharpness", {{"factor", factor}}, ""}; }
Transform AdjustHue(double factor) { return {"adjust_hue", {{"factor", factor}}, ""}; }

Transform Grayscale(std::int64_t channels) { return {"grayscale", {{"channels", channels}}, ""}; }
Transform RandomGrayscale(double p) { return {"random_grayscale", {{"p", p}}, ""}; }
Transform Invert() { return {"invert", {}, ""}; }
Transform RandomInvert(double p) { return {"random_invert", {{"p", p}}, ""}; }
Transform Posterize(std::int64_t bits) { return {"posterize", {{"bits", bits}}, ""}; }
Transform RandomPosterize(std::int64_t bits, double p) { return {"random_posterize", {{"bits", bits}, {"p", p}}, ""}; }
Transform Solarize(double threshold) { return {"solarize", {{"threshold", threshold}}, ""}; }
Transform RandomSolarize(double threshold, double p) {
  return {"random_solarize", {{"threshold", threshold}, {"p", p}}, ""};
}
Transform AutoContrast() { return {"autocontrast", {}, ""}; }
Transform RandomAutoContrast(double p) { return {"random_autocontrast", {{"p", p}}, ""}; }
Transform Equalize() { return {"equalize", {}, ""}; }
Transform RandomEqualize(double p) { return {"random_equalize", {{"p", p}}, ""}; }

namespace {

using Pixels = const image::ImageView&;
using Op = std::function<void(Pixels, std::uint8_t*)>;
// Makes an operation from the arguments of its transform.
using Make = Op (*)(const Transform&);

// ---- the operations

Op invert(const Transform&) { return image::invert; }
Op autocontrast(const Transform&) { return image::autocontrast; }
Op equalize(const Transform&) { return image::equalize; }
Op posterize(const Transform& t) {
  const int bits = static_cast<int>(arg<std::int64_t>(t.args, "bits"));
  return [bits](Pixels in, std::uint8_t* out) { image::posterize(in, bits, out); };
}
Op solarize(const Transform& t) {
  const double threshold = arg<double>(t.args, "threshold");
  return [threshold](Pixels in, std::uint8_t* out) { image::solarize(in, threshold, out); };
}
Op grey_in_all_channels(const Transform&) {
  return [](Pixels in, std::uint8_t* out) { image::grayscale(in, in.channels, out); };
}
template <auto kAdjust>
Op adjust(const Transform& t) {
  const double factor = arg<double>(t.args, "factor");
  return [factor](Pixels in, std::uint8_t* out) { kAdjust(in, factor, out); };
}

// ---- the steps

class Always : public Step {
 public:
  explicit Always(Op op) : op_(std::move(op)) {}
  void run(Frame& frame, Scratch&) const override { recolour(frame, op_); }

 private:
  Op op_;
};

// Draws one double.
class Sometimes : public Step {
 public:
  Sometimes(Op op, const Transform& t, std::uint64_t seed)
      : op_(std::move(op)), key_(philox_key(seed, t.name)), p_(arg<double>(t.args, "p")) {}
  void run(Frame& frame, Scratch&) const override {
    SampleRandom random = frame.random(key_);
    if (random.uniform() < p_) recolour(frame, op_);
  }

 private:
  Op op_;
  PhiloxKey key_;
  double p_;
};

class GrayscaleStep : public Step {
 public:
  explicit GrayscaleStep(const Transform& t) : channels_(static_cast<int>(arg<std::int64_t>(t.args, "channels"))) {}
  void run(Frame& frame, Scratch&) const override {
    const image::ImageView in = frame.view();
    std::uint8_t* out = frame.output(bytes_of(size_of(in), channels_));
    image::grayscale(in, channels_, out);
    frame.set(packed(out, size_of(in), channels_));
  }

 private:
  int channels_;
};

// ---- rules

ArgSpec factor_arg() {
  return {.name = "factor",
          .type = ArgType::real,
          .doc = "0: fully changed (black, grey, without colour, smoothed), 1: the image, above 1: enhanced"};
}
ArgSpec bits_arg() { return {.name = "bits", .type = ArgType::integer, .doc = "number of upper bits to keep, 0 to 8"}; }
ArgSpec threshold_arg() {
  return {.name = "threshold", .type = ArgType::real, .doc = "smallest value that is inverted, 0 to 255"};
}

void check_factor(const Transform& t) {
  const double factor = arg<double>(t.args, "factor");
  if (factor < 0) throw Error(fmt::format("[{}] factor is {}, it must be at least 0", t.op, factor));
}
void check_hue(const Transform& t) { check_between(t, "factor", arg<double>(t.args, "factor"), -0.5, 0.5); }
void check_bits(const Transform& t) {
  check_between(t, "bits", static_cast<double>(arg<std::int64_t>(t.args, "bits")), 0, 8);
}
void check_threshold(const Transform& t) { check_between(t, "threshold", arg<double>(t.args, "threshold"), 0, 255); }

void check_channels(const Transform& t) {
  const auto channels = arg<std::int64_t>(t.args, "channels");
  if (channels != 1 && channels != 3)
    throw Error(fmt::format("[{}] channels is {}, it must be 1 or 3", t.op, channels));
}

Column grayscale_schema(const Transform& t, const Column& given) {
  Column column = pixels_of(t, given);
  column.shape = Shape{column.shape[0], column.shape[1], arg<std::int64_t>(t.args, "channels")};
  return column;
}

using Check = void (*)(const Transform&);

TransformEntry always(const char* op, const char* doc, std::vector<ArgSpec> args, Check check, Make make) {
  return {.op = op,
          .doc = doc,
          .args = std::move(args),
          .check = check,
          .schema = each(pixels_of),
          .step = [make](const Transform& t, std::uint64_t) { return std::make_unique<Always>(make(t)); }};
}

// The same with probability p, which is its last argument.
TransformEntry sometimes(const char* op, const char* doc, std::vector<ArgSpec> args, Check check, Make make,
                         double p = 0.5) {
  args.push_back(p_arg(p));
  return {
      .op = op,
      .doc = doc,
      .args = std::move(args),
      .random = true,
      .check =
          [check](const Transform& t) {
            check_probability(t);
            if (check) check(t);
          },
      .schema = each(pixels_of),
      .step = [make](const Transform& t, std::uint64_t seed) { return std::make_unique<Sometimes>(make(t), t, seed); }};
}

}  // namespace

std::vector<TransformEntry> colour_transforms() {
  const char* hue = "rotation of the hue, -0.5 to 0.5 of the colour circle";
  return {
      always("adjust_brightness", "changes the brightness: a blend with black", {factor_arg()}, check_factor,
             adjust<image::adjust_brightness>),
      always("adjust_contrast", "changes the contrast: a blend with the mean grey", {factor_arg()}, check_factor,
             adjust<image::adjust_contrast>),
      always("adjust_saturation", "changes the saturation: a blend with the image without colour", {factor_arg()},
             check_factor, adjust<image::adjust_saturation>),
      always("adjust_sharpness", "changes the sharpness: a blend with the smoothed image", {factor_arg()}, check_factor,
             adjust<image::adjust_sharpness>),
      always("adjust_hue", "rotates the hue", {{.name = "factor", .type = ArgType::real, .doc = hue}}, check_hue,
             adjust<image::adjust_hue>),
      always("invert", "inverts values: 255 - v", {}, nullptr, invert),
      always("posterize", "keeps the upper bits of each value", {bits_arg()}, check_bits, posterize),
      always("solarize", "inverts bright values", {threshold_arg()}, check_threshold, solarize),
      always("autocontrast", "stretches each channel to 0..255", {}, nullptr, autocontrast),
      always("equalize", "equalizes the histogram of each channel", {}, nullptr, equalize),
      {.op = "grayscale",
       .doc = "converts to grey (luma)",
       .args = {{.name = "channels",
                 .type = ArgType::integer,
                 .doc = "number of channels of the result, 1 or 3",
                 .fallback = std::int64_t{1}}},
       .check = check_channels,
       .schema = each(grayscale_schema),
       .step = step<GrayscaleStep>},
      sometimes("random_grayscale", "converts to grey with the given probability; all channels get the luma", {},
                nullptr, grey_in_all_channels, 0.1),
      sometimes("random_invert", "inverts values: 255 - v", {}, nullptr, invert),
      sometimes("random_posterize", "keeps the upper bits of each value", {bits_arg()}, check_bits, posterize),
      sometimes("random_solarize", "inverts bright values", {threshold_arg()}, check_threshold, solarize),
      sometimes("random_autocontrast", "stretches each channel to 0..255", {}, nullptr, autocontrast),
      sometimes("random_equalize", "equalizes the histogram of each channel", {}, nullptr, equalize),
  };
}

}  // namespace ridgeline::data
