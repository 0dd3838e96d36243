// Steps that move pixels: rotations, warps, borders, the flip from top to bottom.
#include <optional>

#include "ridgeline/data/runtime/steps/step.h"
#include "ridgeline/image/border.h"
#include "ridgeline/image/boxes.h"
#include "ridgeline/image/pixels.h"
#include "ridgeline/image/rotate.h"
#include "ridgeline/image/warp_draw.h"

namespace ridgeline::data {
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

// Draws one double: the angle.
class Rotate : public Step {
 public:
  Rotate(const Transform& t, std::uint64_t seed)
      : key_(philox_key(seed, t.name)), look_(t), expand_(arg<bool>(t.args, "expand")), centre_(centre_of(t)) {
    if (t.op == "rotate")
      angle_ = arg<double>(t.args, "angle");
    else
      degrees_ = range_of(arg<Reals>(t.args, "degrees"));
  }
  void run(Frame& frame, Scratch&) const override {
    const image::ImageView in = frame.view();
    double angle = angle_;
    if (degrees_) {
      SampleRandom random = frame.random(key_);
      angle = image::draw_angle(*degrees_, random);
    }
    const image::Rotation rotation = image::plan_rotation(size_of(in), angle, expand_, centre_);
    if (frame.boxes) image::rotate_boxes(*frame.boxes, size_of(in), rotation);
    std::uint8_t* out = frame.output(bytes_of(rotation.size, in.channels));
    image::rotate(in, rotation, look_.sampling, look_.fill, out);
    frame.set(packed(out, rotation.size, in.channels));
  }

 private:
  PhiloxKey key_;
  Look look_;
  bool expand_;
  std::optional<image::Centre> centre_;
  double angle_ = 0;
  std::optional<image::Interval> degrees_;
};

// Fixed or by image::draw_affine.
class Affine : public Step {
 public:
  Affine(const Transform& t, std::uint64_t seed) : key_(philox_key(seed, t.name)), look_(t), centre_(centre_of(t)) {
    const Reals &translate = arg<Reals>(t.args, "translate"), &shear = arg<Reals>(t.args, "shear");
    if (t.op == "affine") {
      fixed_ = {arg<double>(t.args, "angle"), translate[0], translate[1],
                arg<double>(t.args, "scale"), shear[0],     shear[1]};
      return;
    }
    const Reals& scale = arg<Reals>(t.args, "scale");
    law_.emplace();
    law_->degrees = range_of(arg<Reals>(t.args, "degrees"));
    if (!translate.empty()) law_->translate_x = translate[0], law_->translate_y = translate[1];
    if (!scale.empty()) law_->scale = {scale[0], scale[1]};
    if (!shear.empty()) law_->shear_x = range_of(shear);
    if (shear.size() == 4) law_->shear_y = {shear[2], shear[3]};
  }
  void run(Frame& frame, Scratch&) const override {
    const image::ImageView in = frame.view();
    const image::Size size = size_of(in);
    image::AffineLaw law = fixed_;
    if (law_) {
      SampleRandom random = frame.random(key_);
      law = image::draw_affine(*law_, size, random);
    }
    const image::AffineMatrix matrix =
        centre_ ? image::affine_matrix(law, centre_->x, centre_->y) : image::affine_matrix(law, size);
    if (frame.boxes) image::warp_boxes(*frame.boxes, size, matrix, size);
    std::uint8_t* out = frame.output(bytes_of(size, in.channels));
    image::warp_affine(in, matrix, look_.sampling, look_.fill, size, out);
    frame.set(packed(out, size, in.channels));
  }

 private:
  PhiloxKey key_;
  Look look_;
  std::optional<image::Centre> centre_;
  image::AffineLaw fixed_;
  std::optional<image::RandomAffineLaw> law_;
};

// Draws a double, and the eight integers of image::draw_perspective if it is below p.
class RandomPerspective : public Step {
 public:
  RandomPerspective(const Transform& t, std::uint64_t seed)
      : key_(philox_key(seed, t.name)),
        look_(t),
        distortion_(arg<double>(t.args, "distortion_scale")),
        p_(arg<double>(t.args, "p")) {}
  void run(Frame& frame, Scratch&) const override {
    const image::ImageView in = frame.view();
    SampleRandom random = frame.random(key_);
    if (!(random.uniform() < p_)) return;
    const image::PerspectiveCoefficients coefficients = image::draw_perspective(distortion_, size_of(in), random);
    if (frame.boxes) frame.boxes->clear();  // a record's objects that no column shows; where they went is not known
    std::uint8_t* out = frame.output(bytes_of(size_of(in), in.channels));
    image::perspective(in, coefficients, look_.sampling, look_.fill, out);
    frame.set(packed(out, size_of(in), in.channels));
  }

 private:
  PhiloxKey key_;
  Look look_;
  double distortion_, p_;
};

class Pad : public Step {
 public:
  explicit Pad(const Transform& t)
      : mode_(image::parse_border_mode(arg<std::string>(t.args, "padding_mode"))),
        fill_(colour_of(arg<Integers>(t.args, "fill"))) {
    const Integers& p = arg<Integers>(t.args, "padding");  // left, top, right, bottom
    const auto at = [&](std::size_t i) { return static_cast<int>(p[i % p.size()]); };
    border_ = {.top = at(1), .left = at(0), .bottom = at(3), .right = at(2)};
  }
  void run(Frame& frame, Scratch&) const override {
    const image::ImageView in = frame.view();
    const image::Size size = image::padded_size(size_of(in), border_);
    if (frame.boxes) image::pad_boxes(*frame.boxes, size_of(in), border_);
    std::uint8_t* out = frame.output(bytes_of(size, in.channels));
    image::pad(in, border_, mode_, fill_, out);
    frame.set(packed(out, size, in.channels));
  }

 private:
  image::Border border_;
  image::BorderMode mode_;
  image::Colour fill_;
};

// Draws one double. Whole rows change places, of bytes or of floats.
class RandomVerticalFlip : public Step {
 public:
  RandomVerticalFlip(const Transform& t, std::uint64_t seed)
      : key_(philox_key(seed, t.name)), p_(arg<double>(t.args, "p")) {}
  void run(Frame& frame, Scratch&) const override {
    SampleRandom random = frame.random(key_);
    if (!(random.uniform() < p_)) return;
    if (frame.boxes) image::flip_boxes_vertical(*frame.boxes);
    const Cell in = frame.cell;
    const auto rows = static_cast<int>(in.dims[0]), row = static_cast<int>(in.bytes / static_cast<std::size_t>(rows));
    std::uint8_t* out = frame.output(in.bytes);
    image::flip_vertical({in.data, rows, row, 1, in.row_bytes ? in.row_bytes : row}, out);
    frame.cell.data = out;
    frame.cell.row_bytes = 0;
  }

 private:
  PhiloxKey key_;
  double p_;
};

}  // namespace

std::unique_ptr<Step> make_warp_step(const Transform& t, std::uint64_t seed) {
  if (t.op == "rotate" || t.op == "random_rotation") return std::make_unique<Rotate>(t, seed);
  if (t.op == "affine" || t.op == "random_affine") return std::make_unique<Affine>(t, seed);
  if (t.op == "random_perspective") return std::make_unique<RandomPerspective>(t, seed);
  if (t.op == "pad") return std::make_unique<Pad>(t);
  if (t.op == "random_vertical_flip") return std::make_unique<RandomVerticalFlip>(t, seed);
  return nullptr;
}

}  // namespace ridgeline::data
