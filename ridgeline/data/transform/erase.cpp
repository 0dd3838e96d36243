#include "ridgeline/data/transform/erase.h"

#include <fmt/format.h>

#include <cmath>

#include "ridgeline/data/sample/step.h"
#include "ridgeline/data/transform/rules.h"
#include "ridgeline/image/augment/erase.h"

namespace ridgeline::data {

Transform RandomErasing(RandomErasingOptions options) {
  return {"random_erasing",
          {{"p", options.p},
           {"scale", Reals(options.scale.begin(), options.scale.end())},
           {"ratio", Reals(options.ratio.begin(), options.ratio.end())},
           {"value", std::move(options.value)},
           {"noise", options.noise}},
          ""};
}

Transform CutOut(std::int64_t length, CutOutOptions options) {
  return {
      "cutout",
      {{"length", length}, {"num_patches", options.num_patches}, {"law", options.law}, {"fill", options.fill.values}},
      ""};
}

namespace {

// A copy without gaps, which may be changed.
std::uint8_t* own(Frame& frame) {
  std::uint8_t* out = frame.output(frame.cell.bytes);
  copy_cell(frame.cell, out);
  frame.cell.data = out;
  frame.cell.row_bytes = 0;
  return out;
}

image::Size size_of_cell(const Cell& cell) { return {static_cast<int>(cell.dims[0]), static_cast<int>(cell.dims[1])}; }

// A double for p; below it the draws of image::draw_erasing_box, then those of the noise.
class RandomErasingStep : public Step {
 public:
  RandomErasingStep(const Transform& t, std::uint64_t seed)
      : key_(philox_key(seed, t.name)), p_(arg<double>(t.args, "p")), noise_(arg<bool>(t.args, "noise")) {
    const Reals &scale = arg<Reals>(t.args, "scale"), &ratio = arg<Reals>(t.args, "ratio");
    const Reals& value = arg<Reals>(t.args, "value");
    rule_ = {scale[0], scale[1], ratio[0], ratio[1]};
    for (std::size_t c = 0; c < 3; ++c) value_[c] = static_cast<float>(value[value.size() == 1 ? 0 : c]);
  }
  void run(Frame& frame, Scratch&) const override {
    SampleRandom random = frame.random(key_);
    if (!(random.uniform() < p_)) return;
    const image::Size size = size_of_cell(frame.cell);
    const std::optional<image::Box> box = image::draw_erasing_box(size, rule_, random);
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
  image::ErasingRule rule_;
  std::array<float, 3> value_{};
};

// Two integers a square.
class CutOutStep : public Step {
 public:
  CutOutStep(const Transform& t, std::uint64_t seed)
      : key_(philox_key(seed, t.name)),
        length_(static_cast<int>(arg<std::int64_t>(t.args, "length"))),
        patches_(static_cast<int>(arg<std::int64_t>(t.args, "num_patches"))),
        rule_(arg<std::string>(t.args, "law") == "mindata" ? image::CutoutRule::mindata : image::CutoutRule::centre),
        fill_(colour_of(arg<Integers>(t.args, "fill"))) {}
  void run(Frame& frame, Scratch&) const override {
    SampleRandom random = frame.random(key_);
    const image::Size size = size_of_cell(frame.cell);
    std::uint8_t* out = own(frame);
    for (int i = 0; i < patches_; ++i) {
      const image::Box box = image::draw_cutout_box(size, length_, random, rule_);
      image::erase(out, size, static_cast<int>(frame.cell.dims[2]), box, fill_);
    }
  }

 private:
  PhiloxKey key_;
  int length_, patches_;
  image::CutoutRule rule_;
  image::Colour fill_;
};

// ---- rules

void check_random_erasing(const Transform& t) {
  check_probability(t);
  check_count(t, "scale", {2});
  check_count(t, "ratio", {2});
  check_count(t, "value", {1, 3});
  const Reals &scale = arg<Reals>(t.args, "scale"), &ratio = arg<Reals>(t.args, "ratio");
  image::check_erasing_rule({scale[0], scale[1], ratio[0], ratio[1]});
}

// Bytes can be filled with bytes only.
Column random_erasing_schema(const Transform& t, const Column& given) {
  const Column column = pixels_or_floats_of(t, given);
  for (const double value : arg<Reals>(t.args, "value")) {
    if (column.dtype == DType::u8 && (value != std::floor(value) || value < 0 || value > 255))
      throw Error(fmt::format("[{}] value is {}, pixels u8 take whole ones of 0 to 255", t.op, value));
  }
  return column;
}

void check_cutout(const Transform& t) {
  check_fill(t);
  check_between(t, "length", static_cast<double>(arg<std::int64_t>(t.args, "length")), 1, 65535);
  check_between(t, "num_patches", static_cast<double>(arg<std::int64_t>(t.args, "num_patches")), 1, 1000);
}

}  // namespace

std::vector<TransformEntry> erase_transforms() {
  return {
      {.op = "random_erasing",
       .doc = "fills a random rectangle of u8 or, after normalize, f32 images",
       .args = {p_arg(),
                {.name = "scale",
                 .type = ArgType::reals,
                 .doc = "smallest and largest share of the area",
                 .fallback = Reals{0.02, 0.33}},
                {.name = "ratio",
                 .type = ArgType::reals,
                 .doc = "smallest and largest ratio of height to width",
                 .fallback = Reals{0.3, 3.3}},
                {.name = "value", .type = ArgType::reals, .doc = "1 value or 3", .fallback = Reals{0}},
                {.name = "noise",
                 .type = ArgType::boolean,
                 .doc = "fill with noise instead of value: standard normal in f32, uniform in u8",
                 .fallback = false}},
       .random = true,
       .check = check_random_erasing,
       .schema = each(random_erasing_schema),
       .step = seeded_step<RandomErasingStep>},
      {.op = "cutout",
       .doc = "fills squares at random positions, clipped at the border",
       .args = {{.name = "length", .type = ArgType::integer, .doc = "side in pixels"},
                {.name = "num_patches", .type = ArgType::integer, .doc = "squares", .fallback = std::int64_t{1}},
                {.name = "law",
                 .type = ArgType::text,
                 .doc = "positions: centred at any pixel, or as in MindData",
                 .fallback = std::string("centre"),
                 .allowed = {"centre", "mindata"}},
                fill_arg()},
       .random = true,
       .check = check_cutout,
       .schema = each(pixels_of),
       .step = seeded_step<CutOutStep>},
  };
}

}  // namespace ridgeline::data
