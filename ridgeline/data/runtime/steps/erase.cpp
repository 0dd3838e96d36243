// Steps that fill rectangles, and the automatic policies.
#include <array>
#include <functional>

#include "ridgeline/data/runtime/steps/step.h"
#include "ridgeline/image/augment_policy.h"
#include "ridgeline/image/erase.h"

namespace ridgeline::data {
namespace {

// A copy without gaps, which may be changed.
std::uint8_t* own(Frame& frame) {
  std::uint8_t* out = frame.output(frame.cell.bytes);
  copy_cell(frame.cell, out);
  frame.cell.data = out;
  frame.cell.row_bytes = 0;
  return out;
}

image::Size size_of(const Cell& cell) { return {static_cast<int>(cell.dims[0]), static_cast<int>(cell.dims[1])}; }

// A double for p; below it the draws of image::draw_erasing_box, then those of the noise.
class RandomErasing : public Step {
 public:
  RandomErasing(const Transform& t, std::uint64_t seed)
      : key_(philox_key(seed, t.name)), p_(arg<double>(t.args, "p")), noise_(arg<bool>(t.args, "noise")) {
    const Reals &scale = arg<Reals>(t.args, "scale"), &ratio = arg<Reals>(t.args, "ratio");
    const Reals& value = arg<Reals>(t.args, "value");
    law_ = {scale[0], scale[1], ratio[0], ratio[1]};
    for (std::size_t c = 0; c < 3; ++c) value_[c] = static_cast<float>(value[value.size() == 1 ? 0 : c]);
  }
  void run(Frame& frame, Scratch&) const override {
    SampleRandom random = frame.random(key_);
    if (!(random.uniform() < p_)) return;
    const image::Size size = size_of(frame.cell);
    const std::optional<image::Box> box = image::draw_erasing_box(size, law_, random);
    if (!box) return;
    const int channels = static_cast<int>(frame.cell.dims[2]);
    std::uint8_t* bytes = own(frame);
    auto* floats = reinterpret_cast<float*>(bytes);
    const bool f32 = frame.cell.dtype == DType::f32;
    if (noise_ && f32)
      image::erase_with_noise(floats, size, channels, *box, random);
    else if (noise_)
      image::erase_with_noise(bytes, size, channels, *box, random);
    else if (f32)
      image::erase(floats, size, channels, *box, value_);
    else
      image::erase(bytes, size, channels, *box, colour());
  }

 private:
  image::Colour colour() const {
    return {static_cast<std::uint8_t>(value_[0]), static_cast<std::uint8_t>(value_[1]),
            static_cast<std::uint8_t>(value_[2])};
  }

  PhiloxKey key_;
  double p_;
  bool noise_;
  image::ErasingLaw law_;
  std::array<float, 3> value_{};
};

// Two integers a square.
class CutOutStep : public Step {
 public:
  CutOutStep(const Transform& t, std::uint64_t seed)
      : key_(philox_key(seed, t.name)),
        length_(static_cast<int>(arg<std::int64_t>(t.args, "length"))),
        patches_(static_cast<int>(arg<std::int64_t>(t.args, "num_patches"))),
        law_(arg<std::string>(t.args, "law") == "mindata" ? image::CutoutLaw::mindata : image::CutoutLaw::centre),
        fill_(colour_of(arg<Integers>(t.args, "fill"))) {}
  void run(Frame& frame, Scratch&) const override {
    SampleRandom random = frame.random(key_);
    const image::Size size = size_of(frame.cell);
    std::uint8_t* out = own(frame);
    for (int i = 0; i < patches_; ++i) {
      const image::Box box = image::draw_cutout_box(size, length_, random, law_);
      image::erase(out, size, static_cast<int>(frame.cell.dims[2]), box, fill_);
    }
  }

 private:
  PhiloxKey key_;
  int length_, patches_;
  image::CutoutLaw law_;
  image::Colour fill_;
};

// The draws of the policy's function in image/augment_policy.h.
class Policy : public Step {
 public:
  using Draw = std::function<std::vector<image::AugmentStep>(image::Size, SampleRandom&)>;
  Policy(const Transform& t, std::uint64_t seed, Draw draw)
      : key_(philox_key(seed, t.name)),
        options_{image::parse_sampling(arg<std::string>(t.args, "interpolation")),
                 colour_of(arg<Integers>(t.args, "fill"))},
        draw_(std::move(draw)) {}
  void run(Frame& frame, Scratch& scratch) const override {
    const image::ImageView in = frame.view();
    const image::Size size{in.height, in.width};
    SampleRandom random = frame.random(key_);
    const std::vector<image::AugmentStep> steps = draw_(size, random);
    if (frame.boxes) frame.boxes->clear();  // a record's objects that no column shows; where they went is not known
    if (steps.empty()) return;
    std::uint8_t* out = frame.output(bytes_of(size, in.channels));
    image::apply_augments(in, steps, options_, scratch.spare, out);
    frame.set(packed(out, size, in.channels));
  }

 private:
  PhiloxKey key_;
  image::AugmentOptions options_;
  Draw draw_;
};

Policy::Draw policy_of(const Transform& t) {
  if (t.op == "auto_augment") {
    const image::AutoAugmentPolicy policy = image::parse_auto_augment_policy(arg<std::string>(t.args, "policy"));
    return [policy](image::Size size, SampleRandom& random) { return image::draw_auto_augment(policy, size, random); };
  }
  if (t.op != "rand_augment" && t.op != "trivial_augment_wide") return {};
  const auto number = [&](const char* name) { return static_cast<int>(arg<std::int64_t>(t.args, name)); };
  const int bins = number("num_magnitude_bins");
  if (t.op == "rand_augment") {
    const image::RandAugmentLaw law{number("num_ops"), number("magnitude"), bins};
    return [law](image::Size size, SampleRandom& random) { return image::draw_rand_augment(law, size, random); };
  }
  return [bins](image::Size, SampleRandom& random) {
    return std::vector<image::AugmentStep>{image::draw_trivial_augment(bins, random)};
  };
}

}  // namespace

std::unique_ptr<Step> make_erase_step(const Transform& t, std::uint64_t seed) {
  if (t.op == "random_erasing") return std::make_unique<RandomErasing>(t, seed);
  if (t.op == "cutout") return std::make_unique<CutOutStep>(t, seed);
  return nullptr;
}

std::unique_ptr<Step> make_policy_step(const Transform& t, std::uint64_t seed) {
  Policy::Draw draw = policy_of(t);
  return draw ? std::make_unique<Policy>(t, seed, std::move(draw)) : nullptr;
}

}  // namespace ridgeline::data
