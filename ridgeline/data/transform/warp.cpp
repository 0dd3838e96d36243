#include "ridgeline/data/transform/warp.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "ridgeline/data/sample/geometry.h"
#include "ridgeline/data/sample/step.h"
#include "ridgeline/data/transform/rules.h"
#include "ridgeline/image/augment/rotate.h"
#include "ridgeline/image/augment/warp.h"
#include "ridgeline/image/augment/warp_draw.h"
#include "ridgeline/image/boxes.h"

namespace ridgeline::data {
namespace {

Reals reals(const std::array<double, 2>& values) { return {values.begin(), values.end()}; }
Reals reals(const std::optional<std::array<double, 2>>& values) { return values ? reals(*values) : Reals{}; }

Args rotation_args(const RotationOptions& options) {
  return {{"interpolation", options.interpolation},
          {"expand", options.expand},
          {"center", reals(options.center)},
          {"fill", options.fill.values}};
}

}  // namespace

Transform Rotate(double angle, const RotationOptions& options) {
  Args args = rotation_args(options);
  args["angle"] = angle;
  return {"rotate", std::move(args), ""};
}

Transform RandomRotation(Range degrees, const RotationOptions& options) {
  Args args = rotation_args(options);
  args["degrees"] = degrees.values;
  return {"random_rotation", std::move(args), ""};
}

Transform Affine(AffineOptions options) {
  return {"affine",
          {{"angle", options.angle},
           {"translate", reals(options.translate)},
           {"scale", options.scale},
           {"shear", reals(options.shear)},
           {"interpolation", options.interpolation},
           {"center", reals(options.center)},
           {"fill", options.fill.values}},
          ""};
}

Transform RandomAffine(Range degrees, RandomAffineOptions options) {
  return {"random_affine",
          {{"degrees", degrees.values},
           {"translate", reals(options.translate)},
           {"scale", reals(options.scale)},
           {"shear", std::move(options.shear)},
           {"interpolation", options.interpolation},
           {"center", reals(options.center)},
           {"fill", options.fill.values}},
          ""};
}

Transform RandomPerspective(RandomPerspectiveOptions options) {
  return {"random_perspective",
          {{"distortion_scale", options.distortion_scale},
           {"p", options.p},
           {"interpolation", options.interpolation},
           {"fill", options.fill.values}},
          ""};
}

namespace {

// [most] or [least, most].
image::Interval range_of(const Reals& range) {
  return range.size() == 1 ? image::Interval{-range[0], range[0]} : image::Interval{range[0], range[1]};
}

// What warps share.
struct Look {
  explicit Look(const Transform& t)
      : sampling(image::parse_sampling(arg<std::string>(t.args, "interpolation"))),
        fill(colour_of(arg<Integers>(t.args, "fill"))) {}
  image::Sampling sampling;
  image::Colour fill;
};

std::optional<image::Centre> centre_of(const Transform& t) {
  const Reals& center = arg<Reals>(t.args, "center");
  if (center.empty()) return std::nullopt;
  return image::Centre{center[0], center[1]};
}

// With the centre after the numbers, where one was given.
void record_about(Frame& frame, std::string_view op, Reals numbers, const std::optional<image::Centre>& centre) {
  if (centre) numbers.insert(numbers.end(), {centre->x, centre->y});
  record_geometry(frame, op, numbers);
}

// Rotates the image and its boxes.
class Rotating : public Step {
 protected:
  explicit Rotating(const Transform& t) : look_(t), expand_(arg<bool>(t.args, "expand")), centre_(centre_of(t)) {}
  void turn(Frame& frame, double angle) const {
    const image::ImageView in = frame.view();
    const image::Rotation rotation = image::plan_rotation(size_of(in), angle, expand_, centre_);
    if (frame.boxes) image::rotate_boxes(*frame.boxes, size_of(in), rotation);
    record_about(frame, "rotate", {angle, expand_ ? 1.0 : 0.0}, centre_);
    std::uint8_t* out = frame.output(bytes_of(rotation.size, in.channels));
    image::rotate(in, rotation, look_.sampling, look_.fill, out);
    frame.set(packed(out, rotation.size, in.channels));
  }

 private:
  Look look_;
  bool expand_;
  std::optional<image::Centre> centre_;
};

class RotateStep : public Rotating {
 public:
  explicit RotateStep(const Transform& t) : Rotating(t), angle_(arg<double>(t.args, "angle")) {}
  void run(Frame& frame, Scratch&) const override { turn(frame, angle_); }

 private:
  double angle_;
};

// Draws one double: the angle.
class RandomRotationStep : public Rotating {
 public:
  RandomRotationStep(const Transform& t, std::uint64_t seed)
      : Rotating(t), key_(philox_key(seed, t.name)), degrees_(range_of(arg<Reals>(t.args, "degrees"))) {}
  void run(Frame& frame, Scratch&) const override {
    SampleRandom random = frame.random(key_);
    turn(frame, image::draw_angle(degrees_, random));
  }

 private:
  PhiloxKey key_;
  image::Interval degrees_;
};

// Warps the image and its boxes, and keeps its size.
class Warping : public Step {
 protected:
  explicit Warping(const Transform& t) : look_(t), centre_(centre_of(t)) {}
  void warp(Frame& frame, const image::AffineRule& rule) const {
    const image::ImageView in = frame.view();
    const image::Size size = size_of(in);
    const image::AffineMatrix matrix =
        centre_ ? image::affine_matrix(rule, centre_->x, centre_->y) : image::affine_matrix(rule, size);
    if (frame.boxes) image::warp_boxes(*frame.boxes, size, matrix, size);
    record_about(frame, "affine",
                 {rule.angle, rule.translate_x, rule.translate_y, rule.scale, rule.shear_x, rule.shear_y}, centre_);
    std::uint8_t* out = frame.output(bytes_of(size, in.channels));
    image::warp_affine(in, matrix, look_.sampling, look_.fill, size, out);
    frame.set(packed(out, size, in.channels));
  }

 private:
  Look look_;
  std::optional<image::Centre> centre_;
};

class AffineStep : public Warping {
 public:
  explicit AffineStep(const Transform& t) : Warping(t) {
    const Reals &translate = arg<Reals>(t.args, "translate"), &shear = arg<Reals>(t.args, "shear");
    rule_ = {arg<double>(t.args, "angle"), translate[0], translate[1],
             arg<double>(t.args, "scale"), shear[0],     shear[1]};
  }
  void run(Frame& frame, Scratch&) const override { warp(frame, rule_); }

 private:
  image::AffineRule rule_;
};

// The draws of image::draw_affine.
class RandomAffineStep : public Warping {
 public:
  RandomAffineStep(const Transform& t, std::uint64_t seed) : Warping(t), key_(philox_key(seed, t.name)) {
    const Reals &translate = arg<Reals>(t.args, "translate"), &shear = arg<Reals>(t.args, "shear");
    const Reals& scale = arg<Reals>(t.args, "scale");
    rule_.degrees = range_of(arg<Reals>(t.args, "degrees"));
    if (!translate.empty()) rule_.translate_x = translate[0], rule_.translate_y = translate[1];
    if (!scale.empty()) rule_.scale = {scale[0], scale[1]};
    if (!shear.empty()) rule_.shear_x = range_of(shear);
    if (shear.size() == 4) rule_.shear_y = {shear[2], shear[3]};
  }
  void run(Frame& frame, Scratch&) const override {
    SampleRandom random = frame.random(key_);
    warp(frame, image::draw_affine(rule_, size_of(frame.view()), random));
  }

 private:
  PhiloxKey key_;
  image::RandomAffineRule rule_;
};

// Draws a double, and the eight integers of image::draw_perspective if it is below p.
class RandomPerspectiveStep : public Step {
 public:
  RandomPerspectiveStep(const Transform& t, std::uint64_t seed)
      : key_(philox_key(seed, t.name)),
        look_(t),
        distortion_(arg<double>(t.args, "distortion_scale")),
        p_(arg<double>(t.args, "p")) {}
  void run(Frame& frame, Scratch&) const override {
    const image::ImageView in = frame.view();
    SampleRandom random = frame.random(key_);
    if (!(random.uniform() < p_)) return;
    const image::PerspectiveCoefficients coefficients = image::draw_perspective(distortion_, size_of(in), random);
    if (frame.boxes) image::perspective_boxes(*frame.boxes, size_of(in), coefficients);
    record_geometry(frame, "perspective", coefficients);
    std::uint8_t* out = frame.output(bytes_of(size_of(in), in.channels));
    image::perspective(in, coefficients, look_.sampling, look_.fill, out);
    frame.set(packed(out, size_of(in), in.channels));
  }

 private:
  PhiloxKey key_;
  Look look_;
  double distortion_, p_;
};

// ---- rules

constexpr double kAny = -std::numeric_limits<double>::infinity();

ArgSpec degrees_arg() {
  return {.name = "degrees", .type = ArgType::reals, .doc = "in degrees: [a] for -a to a, or [smallest, largest]"};
}
ArgSpec center_arg() {
  return {.name = "center",
          .type = ArgType::reals,
          .doc = "fixed point [x, y] of the rotation, in pixels; empty: the centre",
          .fallback = Reals{}};
}
ArgSpec expand_arg() {
  return {.name = "expand",
          .type = ArgType::boolean,
          .doc = "enlarge the result to hold the whole rotated image",
          .fallback = false};
}

void check_range(const Transform& t, const std::string& name, double least) {
  check_count(t, name, {1, 2});
  const Reals& range = arg<Reals>(t.args, name);
  check_reals(t, name, range.size() == 1 ? 0 : least);
  if (range.size() == 2 && range[0] > range[1])
    throw Error(fmt::format("[{}] {} goes from {} down to {}", t.op, name, range[0], range[1]));
}

void check_center(const Transform& t) {
  check_count(t, "center", {0, 2});
  check_fill(t);
}

void check_random_rotation(const Transform& t) {
  check_range(t, "degrees", kAny);
  check_center(t);
}

void check_affine(const Transform& t) {
  check_center(t);
  for (const char* name : {"translate", "shear"}) check_count(t, name, {2});
  const Reals &translate = arg<Reals>(t.args, "translate"), &shear = arg<Reals>(t.args, "shear");
  image::affine_matrix(
      {arg<double>(t.args, "angle"), translate[0], translate[1], arg<double>(t.args, "scale"), shear[0], shear[1]}, 0,
      0);
}

void check_random_affine(const Transform& t) {
  check_range(t, "degrees", kAny);
  check_center(t);
  check_count(t, "translate", {0, 2});
  for (const double share : arg<Reals>(t.args, "translate")) check_between(t, "translate", share, 0, 1);
  check_count(t, "scale", {0, 2});
  const Reals &scale = arg<Reals>(t.args, "scale"), &shear = arg<Reals>(t.args, "shear");
  for (const double factor : scale) {
    if (!(factor > 0)) throw Error(fmt::format("[{}] scale is {}, it must be positive", t.op, factor));
  }
  check_count(t, "shear", {0, 1, 2, 4});
  check_reals(t, "shear", shear.size() == 1 ? 0 : kAny);
  const bool reversed = (scale.size() == 2 && scale[0] > scale[1]) || (shear.size() >= 2 && shear[0] > shear[1]) ||
                        (shear.size() == 4 && shear[2] > shear[3]);
  if (reversed) throw Error(fmt::format("[{}] scale and shear must not go down", t.op));
}

void check_random_perspective(const Transform& t) {
  check_probability(t);
  check_fill(t);
  check_between(t, "distortion_scale", arg<double>(t.args, "distortion_scale"), 0, 1);
}

// An image that may grow by rotation has no known size.
Column rotated_schema(const Transform& t, const Column& given) {
  Column column = pixels_of(t, given);
  if (arg<bool>(t.args, "expand")) column.shape = Shape{kVaries, kVaries, column.shape[2]};
  return column;
}

}  // namespace

std::vector<TransformEntry> warp_transforms() {
  ArgSpec bilinear = sampling_arg();
  bilinear.fallback = std::string("bilinear");
  return {
      {.op = "rotate",
       .doc = "rotates counterclockwise by a fixed angle",
       .args = {{.name = "angle", .type = ArgType::real, .doc = "degrees"},
                sampling_arg(),
                expand_arg(),
                center_arg(),
                fill_arg()},
       .check = check_center,
       .schema = each(rotated_schema),
       .step = step<RotateStep>},
      {.op = "random_rotation",
       .doc = "rotates by a random angle",
       .args = {degrees_arg(), sampling_arg(), expand_arg(), center_arg(), fill_arg()},
       .random = true,
       .check = check_random_rotation,
       .schema = each(rotated_schema),
       .step = seeded_step<RandomRotationStep>},
      {.op = "affine",
       .doc = "rotates (clockwise), shears, scales and translates",
       .args = {{.name = "angle", .type = ArgType::real, .doc = "degrees", .fallback = 0.0},
                {.name = "translate",
                 .type = ArgType::reals,
                 .doc = "translation [x, y] in pixels",
                 .fallback = Reals{0, 0}},
                {.name = "scale", .type = ArgType::real, .doc = "factor", .fallback = 1.0},
                {.name = "shear", .type = ArgType::reals, .doc = "shear [x, y] in degrees", .fallback = Reals{0, 0}},
                sampling_arg(),
                center_arg(),
                fill_arg()},
       .check = check_affine,
       .schema = each(pixels_of),
       .step = step<AffineStep>},
      {.op = "random_affine",
       .doc = "rotates, translates, scales and shears at random, about the centre",
       .args = {degrees_arg(),
                {.name = "translate",
                 .type = ArgType::reals,
                 .doc = "largest translation [x, y] as a share of width and height; empty: none",
                 .fallback = Reals{}},
                {.name = "scale",
                 .type = ArgType::reals,
                 .doc = "[smallest, largest] factor; empty: none",
                 .fallback = Reals{}},
                {.name = "shear",
                 .type = ArgType::reals,
                 .doc = "shear in degrees: [a] for -a to a, [smallest, largest] horizontal, or four numbers with the "
                        "vertical ones; empty: none",
                 .fallback = Reals{}},
                sampling_arg(),
                center_arg(),
                fill_arg()},
       .random = true,
       .check = check_random_affine,
       .schema = each(pixels_of),
       .step = seeded_step<RandomAffineStep>},
      {.op = "random_perspective",
       .doc = "perspective: moves the corners inwards at random",
       .args = {{.name = "distortion_scale",
                 .type = ArgType::real,
                 .doc = "largest shift of a corner, as a share of half a side",
                 .fallback = 0.5},
                p_arg(),
                std::move(bilinear),
                fill_arg()},
       .random = true,
       .check = check_random_perspective,
       .schema = each(pixels_of),
       .step = seeded_step<RandomPerspectiveStep>},
  };
}

}  // namespace ridgeline::data
