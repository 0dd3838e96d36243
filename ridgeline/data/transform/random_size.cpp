#include "ridgeline/data/transform/random_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ridgeline/data/sample/step.h"
#include "ridgeline/data/transform/rules.h"
#include "ridgeline/data/transform/window.h"
#include "ridgeline/image/geometry.h"
#include "ridgeline/image/resample/filter.h"

namespace ridgeline::data {

Transform RandomShortestSize(std::vector<std::int64_t> min_size, std::int64_t max_size, std::string interpolation) {
  return {"random_shortest_size",
          {{"min_size", std::move(min_size)}, {"max_size", max_size}, {"interpolation", std::move(interpolation)}},
          ""};
}

Transform RandomResize(std::int64_t min_size, std::int64_t max_size, std::string interpolation) {
  return {"random_resize",
          {{"min_size", min_size}, {"max_size", max_size}, {"interpolation", std::move(interpolation)}},
          ""};
}

Transform ScaleJitter(std::array<std::int64_t, 2> target_size, ScaleJitterOptions options) {
  return {"scale_jitter",
          {{"target_size", Integers(target_size.begin(), target_size.end())},
           {"scale_range", Reals(options.scale_range.begin(), options.scale_range.end())},
           {"interpolation", std::move(options.interpolation)}},
          ""};
}

namespace {

// Draws a size from the image's own.
class RandomSize : public Step {
 public:
  void run(Frame& frame, Scratch& scratch) const override {
    const image::Size in = size_of(frame.view());
    SampleRandom random = frame.random(key_);
    resize_into(frame, scratch, {.in = in, .out = draw(in, random), .filter = filter_});
  }

 protected:
  RandomSize(const Transform& t, std::uint64_t seed)
      : key_(philox_key(seed, t.name)), filter_(image::parse_filter(arg<std::string>(t.args, "interpolation"))) {}
  virtual image::Size draw(image::Size in, SampleRandom& random) const = 0;
  static image::Size scaled(image::Size in, double factor) {
    return new_size(in, in.height * factor, in.width * factor);
  }

 private:
  PhiloxKey key_;
  image::Filter filter_;
};

// An integer: which size.
class RandomShortestSizeStep : public RandomSize {
 public:
  RandomShortestSizeStep(const Transform& t, std::uint64_t seed)
      : RandomSize(t, seed),
        sizes_(arg<Integers>(t.args, "min_size")),
        most_(static_cast<double>(arg<std::int64_t>(t.args, "max_size"))) {}

 private:
  image::Size draw(image::Size in, SampleRandom& random) const override {
    const auto which = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(sizes_.size()) - 1));
    double factor = static_cast<double>(sizes_[which]) / std::min(in.height, in.width);
    if (most_ > 0) factor = std::min(factor, most_ / std::max(in.height, in.width));
    return scaled(in, factor);
  }

  Integers sizes_;
  double most_;
};

// An integer: the shorter side.
class RandomResizeStep : public RandomSize {
 public:
  RandomResizeStep(const Transform& t, std::uint64_t seed)
      : RandomSize(t, seed),
        least_(arg<std::int64_t>(t.args, "min_size")),
        end_(arg<std::int64_t>(t.args, "max_size")) {}

 private:
  image::Size draw(image::Size in, SampleRandom& random) const override {
    const image::Size out = image::resized_short_side(in, static_cast<int>(random.integer(least_, end_ - 1)));
    return new_size(in, out.height, out.width);
  }

  std::int64_t least_, end_;
};

// A double: the factor.
class ScaleJitterStep : public RandomSize {
 public:
  ScaleJitterStep(const Transform& t, std::uint64_t seed)
      : RandomSize(t, seed), target_(arg<Integers>(t.args, "target_size")), scale_(arg<Reals>(t.args, "scale_range")) {}

 private:
  image::Size draw(image::Size in, SampleRandom& random) const override {
    const double fits =
        std::min(static_cast<double>(target_[1]) / in.height, static_cast<double>(target_[0]) / in.width);
    return scaled(in, fits * random.uniform(scale_[0], scale_[1]));
  }

  Integers target_;
  Reals scale_;
};

// ---- rules

void check_side(const Transform& t, const char* name, std::int64_t side, std::int64_t least) {
  check_between(t, name, static_cast<double>(side), static_cast<double>(least), 65535);
}

void check_shortest_size(const Transform& t) {
  const Integers& sizes = arg<Integers>(t.args, "min_size");
  if (sizes.empty()) throw Error(fmt::format("[{}] min_size has no numbers", t.op));
  for (const std::int64_t side : sizes) check_side(t, "min_size", side, 1);
  check_side(t, "max_size", arg<std::int64_t>(t.args, "max_size"), 0);
}

void check_random_resize(const Transform& t) {
  const std::int64_t least = arg<std::int64_t>(t.args, "min_size"), most = arg<std::int64_t>(t.args, "max_size");
  check_side(t, "min_size", least, 1);
  check_side(t, "max_size", most, 1);
  if (least >= most)
    throw Error(fmt::format("[{}] min_size is {}, it must be less than max_size {}", t.op, least, most));
}

void check_scale_jitter(const Transform& t) {
  check_count(t, "target_size", {2});
  for (const std::int64_t side : arg<Integers>(t.args, "target_size")) check_side(t, "target_size", side, 1);
  check_count(t, "scale_range", {2});
  const Reals& scale = arg<Reals>(t.args, "scale_range");
  if (!(scale[0] > 0 && scale[0] <= scale[1]))
    throw Error(fmt::format("[{}] needs 0 < least <= most scale_range, it has {} and {}", t.op, scale[0], scale[1]));
}

Column resized_schema(const Transform& t, const Column& given) {
  Column column = image_of(t, given);
  column.shape = Shape{kVaries, kVaries, column.shape[2]};
  return column;
}

}  // namespace

std::vector<TransformEntry> random_size_transforms() {
  return {
      {.op = "random_shortest_size",
       .doc = "resizes the shorter side to one of the sizes, keeping the aspect ratio",
       .args = {{.name = "min_size", .type = ArgType::integers, .doc = "sizes of the shorter side"},
                {.name = "max_size",
                 .type = ArgType::integer,
                 .doc = "largest size of the longer side; 0: no limit",
                 .fallback = std::int64_t{0}},
                filter_arg()},
       .random = true,
       .ends_in_resize = true,
       .check = check_shortest_size,
       .schema = each(resized_schema),
       .step = seeded_step<RandomShortestSizeStep>},
      {.op = "random_resize",
       .doc = "resizes the shorter side to a random size, keeping the aspect ratio",
       .args = {{.name = "min_size", .type = ArgType::integer, .doc = "smallest size"},
                {.name = "max_size", .type = ArgType::integer, .doc = "largest size plus one"},
                filter_arg()},
       .random = true,
       .ends_in_resize = true,
       .check = check_random_resize,
       .schema = each(resized_schema),
       .step = seeded_step<RandomResizeStep>},
      {.op = "scale_jitter",
       .doc = "resizes to the largest size that fits into the target size, times a random factor",
       .args = {{.name = "target_size", .type = ArgType::integers, .doc = "[width, height]"},
                {.name = "scale_range",
                 .type = ArgType::reals,
                 .doc = "smallest and largest factor",
                 .fallback = Reals{0.1, 2}},
                filter_arg()},
       .random = true,
       .ends_in_resize = true,
       .check = check_scale_jitter,
       .schema = each(resized_schema),
       .step = seeded_step<ScaleJitterStep>},
  };
}

}  // namespace ridgeline::data
