#include "ridgeline/data/transform/resize.h"

#include <fmt/format.h>

#include <utility>

#include "ridgeline/core/error.h"
#include "ridgeline/data/sample/geometry.h"
#include "ridgeline/data/sample/step.h"
#include "ridgeline/data/transform/decode.h"
#include "ridgeline/data/transform/rules.h"
#include "ridgeline/data/transform/window.h"
#include "ridgeline/image/boxes.h"
#include "ridgeline/image/geometry.h"
#include "ridgeline/image/pixels.h"
#include "ridgeline/image/resample/filter.h"
#include "ridgeline/image/sniff.h"

namespace ridgeline::data {

Transform RandomResizedCrop(Size size, RandomResizedCropOptions options) {
  return {"random_resized_crop",
          {{"size", size.values},
           {"scale", Reals(options.scale.begin(), options.scale.end())},
           {"ratio", Reals(options.ratio.begin(), options.ratio.end())},
           {"interpolation", options.interpolation},
           {"min_object_covered", options.min_object_covered}},
          ""};
}

Transform Resize(Size size, ResizeOptions options) {
  return {"resize",
          {{"size", size.values}, {"interpolation", options.interpolation}, {"size_rule", options.size_rule}},
          ""};
}

namespace {

// What Resize(size) makes of an image.
class SizeRule {
 public:
  SizeRule(const Transform& t, const char* name)
      : size_(arg<Integers>(t.args, name)),
        rule_(arg<std::string>(t.args, "size_rule") == "mindata" ? image::SizeRule::mindata
                                                                 : image::SizeRule::torchvision) {}
  image::Size of(image::Size in) const {
    return size_.size() == 1 ? image::resized_short_side(in, static_cast<int>(size_[0]), rule_) : to_size(size_);
  }

 private:
  Integers size_;
  image::SizeRule rule_;
};

// `part`: the source that the prepared resizer reads.
void resample(Frame& frame, image::Resizer& resizer, const image::ImageView& part) {
  if (part.channels > 4) throw Error(fmt::format("pixels of {} channels cannot be resized (at most 4)", part.channels));
  if (frame.tail) return frame.tail->resample(frame, resizer, part);
  const image::Size out = resizer.result();
  std::uint8_t* target = frame.output(bytes_of(out, part.channels));
  resizer.run(part, target, static_cast<std::ptrdiff_t>(out.width) * part.channels);
  frame.set(packed(target, out, part.channels));
}

}  // namespace

void resize_into(Frame& frame, Scratch& scratch, const image::ResizeSpec& spec) {
  record_geometry(frame, "resize", spec.out);
  scratch.resizer.prepare(spec);
  resample(frame, scratch.resizer, image::crop(frame.view(), scratch.resizer.source()));
}

namespace {

// Draws as image::random_resized_crop does.
template <bool decodes>
class RandomResizedCropStep : public Step {
 public:
  RandomResizedCropStep(const Transform& t, std::uint64_t seed)
      : key_(philox_key(seed, t.name)),
        out_(to_size(arg<Integers>(t.args, "size"))),
        filter_(image::parse_filter(arg<std::string>(t.args, "interpolation"))) {
    const Reals& scale = arg<Reals>(t.args, "scale");
    const Reals& ratio = arg<Reals>(t.args, "ratio");
    rule_ = {scale[0], scale[1], ratio[0], ratio[1], 10, arg<double>(t.args, "min_object_covered")};
    if constexpr (decodes) orientation_ = exif_orientation_of(t);
  }

  void run(Frame& frame, Scratch& scratch) const override {
    const image::Size in = decodes ? image::size_of_picture(frame.encoded(), orientation_) : size_of(frame.view());
    if (decodes) turn_upright(frame, orientation_);
    SampleRandom random = frame.random(key_);
    std::span<const image::ObjectBox> objects;
    if (rule_.min_object_covered > 0 && frame.row.objects) objects = *frame.row.objects;
    const image::Box box = image::random_resized_crop(in, rule_, random, objects);
    if (frame.boxes) image::crop_boxes(*frame.boxes, in, box);
    record_geometry(frame, "crop", box);
    if constexpr (decodes)
      decode_part(frame, scratch, box, orientation_);
    else
      frame.set(image::crop(frame.view(), box));
    resize_into(frame, scratch, {.in = {box.height, box.width}, .out = out_, .filter = filter_});
  }

 private:
  PhiloxKey key_;
  image::Size out_;
  image::Filter filter_;
  image::CropRule rule_;
  image::ExifOrientation orientation_ = image::ExifOrientation::ignore;  // where it decodes
};

class ResizeStep : public Step {
 public:
  explicit ResizeStep(const Transform& t)
      : size_(t, "size"), filter_(image::parse_filter(arg<std::string>(t.args, "interpolation"))) {}
  void run(Frame& frame, Scratch& scratch) const override {
    const image::Size in = size_of(frame.view());
    resize_into(frame, scratch, {.in = in, .out = size_.of(in), .filter = filter_});
  }

 private:
  SizeRule size_;
  image::Filter filter_;
};

// Decodes the pixels that the resampling of the crop reads, and computes no others.
class DecodeResizeCenterCrop : public Step {
 public:
  explicit DecodeResizeCenterCrop(const Transform& t)
      : crop_(to_size(arg<Integers>(t.args, "size"))),
        resize_(t, "resize"),
        filter_(image::parse_filter(arg<std::string>(t.args, "interpolation"))),
        orientation_(exif_orientation_of(t)) {}

  void run(Frame& frame, Scratch& scratch) const override {
    const image::Size in = image::size_of_picture(frame.encoded(), orientation_);
    turn_upright(frame, orientation_);
    const image::Size out = resize_.of(in);
    if (crop_.height > out.height || crop_.width > out.width) {  // zeros around: the plain way
      decode_whole(frame, scratch, orientation_);
      // This resize is not the end.
      std::uint8_t* slot = std::exchange(frame.slot, nullptr);
      const RowTail* tail = std::exchange(frame.tail, nullptr);
      resize_into(frame, scratch, {.in = in, .out = out, .filter = filter_});
      frame.slot = slot;
      frame.tail = tail;
      center_crop_into(frame, crop_);
      return;
    }
    const image::CenterCrop crop = image::center_crop(out, crop_);
    if (frame.boxes) image::crop_boxes(*frame.boxes, out, crop.box);
    record_geometry(frame, "resize", out);
    record_geometry(frame, "center_crop", crop_);
    scratch.resizer.prepare({.in = in, .out = out, .filter = filter_, .window = crop.box});
    decode_part(frame, scratch, scratch.resizer.source(), orientation_);
    resample(frame, scratch.resizer, frame.view());
  }

 private:
  image::Size crop_;
  SizeRule resize_;
  image::Filter filter_;
  image::ExifOrientation orientation_;
};

// ---- rules

ArgSpec size_rule_arg() {
  return {.name = "size_rule",
          .type = ArgType::text,
          .doc = "how the longer side is rounded if only the shorter is given",
          .fallback = std::string("torchvision"),
          .allowed = {"torchvision", "mindata"}};
}

std::vector<ArgSpec> crop_args() {
  return {size_arg(),
          {.name = "scale",
           .type = ArgType::reals,
           .doc = "smallest and largest share of the area",
           .fallback = Reals{0.08, 1.0}},
          {.name = "ratio",
           .type = ArgType::reals,
           .doc = "smallest and largest ratio of width to height",
           .fallback = Reals{3.0 / 4, 4.0 / 3}},
          filter_arg(),
          {.name = "min_object_covered",
           .type = ArgType::real,
           .doc = "share of one of the record's bounding boxes that a crop must contain; 0: ignore boxes",
           .fallback = 0.1}};
}

std::vector<ArgSpec> decode_crop_args() {
  std::vector<ArgSpec> args = crop_args();
  args.push_back(exif_orientation_arg());
  return args;
}

void check_crop(const Transform& t) {
  check_size(t);
  const Reals& scale = arg<Reals>(t.args, "scale");
  const Reals& ratio = arg<Reals>(t.args, "ratio");
  const double covered = arg<double>(t.args, "min_object_covered");
  if (scale.size() != 2) throw Error(fmt::format("[{}] scale has {} numbers, it must have 2", t.op, scale.size()));
  if (ratio.size() != 2) throw Error(fmt::format("[{}] ratio has {} numbers, it must have 2", t.op, ratio.size()));
  if (!(covered >= 0 && covered <= 1))
    throw Error(fmt::format("[{}] min_object_covered is {}, it must be between 0 and 1", t.op, covered));
  image::check_crop_rule({scale[0], scale[1], ratio[0], ratio[1], 10, covered});
}

Column resize_schema(const Transform& t, const Column& given) {
  Column column = image_of(t, given);
  const Integers& size = arg<Integers>(t.args, "size");
  const Shape in = column.shape;
  if (size.size() == 2) {
    column.shape = Shape{size[0], size[1], in[2]};
  } else if (in[0] != kVaries && in[1] != kVaries) {
    const auto rule =
        arg<std::string>(t.args, "size_rule") == "mindata" ? image::SizeRule::mindata : image::SizeRule::torchvision;
    const image::Size out =
        image::resized_short_side({static_cast<int>(in[0]), static_cast<int>(in[1])}, static_cast<int>(size[0]), rule);
    column.shape = Shape{out.height, out.width, in[2]};
  } else {
    column.shape = Shape{kVaries, kVaries, in[2]};
  }
  return column;
}

Column decode_crop_schema(const Transform& t, const Column& column) { return crop_schema(t, decode_schema(t, column)); }

// From the operations that a fused one replaces to its arguments. The name is that of the one that draws, or the last.
Transform fuse_decode_random_resized_crop(std::span<const Transform> of) {
  Args args = of[1].args;
  args["exif_orientation"] = of[0].args.at("exif_orientation");
  return {"decode_random_resized_crop", std::move(args), of[1].name};
}
Transform fuse_decode_resize_center_crop(std::span<const Transform> of) {
  return {"decode_resize_center_crop",
          {{"size", of[2].args.at("size")},
           {"resize", of[1].args.at("size")},
           {"interpolation", of[1].args.at("interpolation")},
           {"size_rule", of[1].args.at("size_rule")},
           {"exif_orientation", of[0].args.at("exif_orientation")}},
          of[2].name};
}

}  // namespace

std::vector<TransformEntry> resize_transforms() {
  return {
      {.op = "random_resized_crop",
       .doc = "a random crop, resized: crops as in torchvision, resampling as in Pillow",
       .args = crop_args(),
       .random = true,
       .ends_in_resize = true,
       .check = check_crop,
       .schema = each(crop_schema),
       .step = seeded_step<RandomResizedCropStep<false>>},
      {.op = "resize",
       .doc = "resizes: one number: the shorter side, keeping the aspect ratio; two: exact height and width",
       .args = {size_arg("[shorter side] or [height, width]"), filter_arg(), size_rule_arg()},
       .ends_in_resize = true,
       .check = [](const Transform& t) { check_size(t); },
       .schema = each(resize_schema),
       .step = step<ResizeStep>},
      {.op = "decode_random_resized_crop",
       .doc = "decode and random_resized_crop in one, which decodes only the region of the crop",
       .args = decode_crop_args(),
       .made_by_pass = true,
       .needs_pixels = false,
       .random = true,
       .costly = true,
       .ends_in_resize = true,
       .check = check_crop,
       .schema = each(decode_crop_schema),
       .step = seeded_step<RandomResizedCropStep<true>>,
       .fuses = {"decode", "random_resized_crop"},
       .fuse = fuse_decode_random_resized_crop},
      {.op = "decode_resize_center_crop",
       .doc = "decode, resize and center_crop in one, which decodes only the region of the crop",
       .args = {size_arg("size of the crop: [side] or [height, width]"),
                {.name = "resize", .type = ArgType::integers, .doc = "[shorter side] or [height, width]"},
                filter_arg(),
                size_rule_arg(),
                exif_orientation_arg()},
       .made_by_pass = true,
       .needs_pixels = false,
       .costly = true,
       .ends_in_resize = true,
       .check =
           [](const Transform& t) {
             check_size(t);
             check_size(t, "resize");
           },
       .schema = each(decode_crop_schema),
       .step = step<DecodeResizeCenterCrop>,
       .fuses = {"decode", "resize", "center_crop"},
       .fuse = fuse_decode_resize_center_crop},
  };
}

}  // namespace ridgeline::data
