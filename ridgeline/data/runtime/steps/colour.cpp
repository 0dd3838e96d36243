// Steps that change colours and leave pixels where they are.
#include <functional>
#include <optional>

#include "ridgeline/data/runtime/steps/step.h"
#include "ridgeline/image/blur.h"
#include "ridgeline/image/colour.h"
#include "ridgeline/image/colour_jitter.h"
#include "ridgeline/image/enhance.h"
#include "ridgeline/image/tone.h"

namespace ridgeline::data {
namespace {

using Op = std::function<void(const image::ImageView&, std::uint8_t*)>;

template <class Apply>
void apply(Frame& frame, Apply&& op) {
  const image::ImageView in = frame.view();
  std::uint8_t* out = frame.output(bytes_of(size_of(in), in.channels));
  op(in, out);
  frame.set(packed(out, size_of(in), in.channels));
}

// An operation without draws of its own: always, or (one double) with probability p.
class Fixed : public Step {
 public:
  Fixed(Op op, PhiloxKey key, std::optional<double> p) : op_(std::move(op)), key_(key), p_(p) {}
  void run(Frame& frame, Scratch&) const override {
    if (p_) {
      SampleRandom random = frame.random(key_);
      if (!(random.uniform() < *p_)) return;
    }
    apply(frame, op_);
  }

 private:
  Op op_;
  PhiloxKey key_;
  std::optional<double> p_;
};

class Grayscale : public Step {
 public:
  explicit Grayscale(const Transform& t) : channels_(static_cast<int>(arg<std::int64_t>(t.args, "channels"))) {}
  void run(Frame& frame, Scratch&) const override {
    const image::ImageView in = frame.view();
    std::uint8_t* out = frame.output(bytes_of(size_of(in), channels_));
    image::grayscale(in, channels_, out);
    frame.set(packed(out, size_of(in), channels_));
  }

 private:
  int channels_;
};

// The draws of image::draw_colour_jitter.
class ColorJitterStep : public Step {
 public:
  ColorJitterStep(const Transform& t, std::uint64_t seed) : key_(philox_key(seed, t.name)) {
    const auto single = [&](const char* name) {
      const Reals& range = arg<Reals>(t.args, name);
      return range.size() == 1 ? range[0] : 0.0;
    };
    law_ = image::colour_jitter_law(single("brightness"), single("contrast"), single("saturation"), single("hue"));
    const auto range = [&](const char* name, image::Interval& interval) {
      if (const Reals& given = arg<Reals>(t.args, name); given.size() == 2) interval = {given[0], given[1]};
    };
    range("brightness", law_.brightness);
    range("contrast", law_.contrast);
    range("saturation", law_.saturation);
    range("hue", law_.hue);
    image::check_colour_jitter_law(law_);
  }
  void run(Frame& frame, Scratch&) const override {
    SampleRandom random = frame.random(key_);
    const image::ColourJitter jitter = image::draw_colour_jitter(law_, random);
    apply(frame, [&](const image::ImageView& in, std::uint8_t* out) { image::apply_colour_jitter(in, jitter, out); });
  }

 private:
  PhiloxKey key_;
  image::ColourJitterLaw law_;
};

// A double for p, then, of a range, one for the factor.
class RandomSharpness : public Step {
 public:
  RandomSharpness(const Transform& t, std::uint64_t seed)
      : key_(philox_key(seed, t.name)), factor_(arg<Reals>(t.args, "factor")), p_(arg<double>(t.args, "p")) {}
  void run(Frame& frame, Scratch&) const override {
    SampleRandom random = frame.random(key_);
    if (!(random.uniform() < p_)) return;
    const double factor = factor_.size() == 1 ? factor_[0] : random.uniform(factor_[0], factor_[1]);
    apply(frame, [&](const image::ImageView& in, std::uint8_t* out) { image::adjust_sharpness(in, factor, out); });
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
    law_ = {static_cast<int>(kernel.front()), static_cast<int>(kernel.back()), sigma_[0], sigma_[0]};
  }
  void run(Frame& frame, Scratch&) const override {
    image::BlurLaw law = law_;
    if (sigma_.size() == 2) {
      SampleRandom random = frame.random(key_);
      law.sigma_x = law.sigma_y = random.uniform(sigma_[0], sigma_[1]);
    }
    apply(frame, [&](const image::ImageView& in, std::uint8_t* out) { image::gaussian_blur(in, law, out); });
  }

 private:
  PhiloxKey key_;
  Reals sigma_;
  image::BlurLaw law_;
};

// The operations without draws, by their names without "random_" before; empty: not one of them.
Op fixed_op(const Transform& t, std::string_view name) {
  using View = const image::ImageView&;
  if (name == "invert") return [](View in, std::uint8_t* out) { image::invert(in, out); };
  if (name == "autocontrast") return [](View in, std::uint8_t* out) { image::autocontrast(in, out); };
  if (name == "equalize") return [](View in, std::uint8_t* out) { image::equalize(in, out); };
  if (name == "posterize") {
    const int bits = static_cast<int>(arg<std::int64_t>(t.args, "bits"));
    return [bits](View in, std::uint8_t* out) { image::posterize(in, bits, out); };
  }
  if (name == "solarize") {
    const double threshold = arg<double>(t.args, "threshold");
    return [threshold](View in, std::uint8_t* out) { image::solarize(in, threshold, out); };
  }
  if (!name.starts_with("adjust_")) return {};
  using Adjust = void (*)(View, double, std::uint8_t*);
  const Adjust adjust = name == "adjust_brightness"   ? image::adjust_brightness
                        : name == "adjust_contrast"   ? image::adjust_contrast
                        : name == "adjust_saturation" ? image::adjust_saturation
                        : name == "adjust_sharpness"  ? image::adjust_sharpness
                                                      : image::adjust_hue;
  const double factor = arg<double>(t.args, "factor");
  return [adjust, factor](View in, std::uint8_t* out) { adjust(in, factor, out); };
}

}  // namespace

std::unique_ptr<Step> make_colour_step(const Transform& t, std::uint64_t seed) {
  const PhiloxKey key = philox_key(seed, t.name);
  if (t.op == "color_jitter") return std::make_unique<ColorJitterStep>(t, seed);
  if (t.op == "random_sharpness") return std::make_unique<RandomSharpness>(t, seed);
  if (t.op == "gaussian_blur") return std::make_unique<GaussianBlurStep>(t, seed);
  if (t.op == "grayscale") return std::make_unique<Grayscale>(t);
  if (t.op == "random_grayscale") {
    const Op gray = [](const image::ImageView& in, std::uint8_t* out) { image::grayscale(in, in.channels, out); };
    return std::make_unique<Fixed>(gray, key, arg<double>(t.args, "p"));
  }
  const bool random = t.op.starts_with("random_");
  Op op = fixed_op(t, std::string_view(t.op).substr(random ? 7 : 0));
  if (!op) return nullptr;
  return std::make_unique<Fixed>(std::move(op), key, random ? std::optional(arg<double>(t.args, "p")) : std::nullopt);
}

}  // namespace ridgeline::data
