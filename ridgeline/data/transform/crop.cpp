#include "ridgeline/data/transform/crop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ridgeline/data/sample/geometry.h"
#include "ridgeline/data/sample/step.h"
#include "ridgeline/data/transform/rules.h"
#include "ridgeline/data/transform/window.h"
#include "ridgeline/image/augment/border.h"
#include "ridgeline/image/boxes.h"
#include "ridgeline/image/geometry.h"
#include "ridgeline/image/pixels.h"

namespace ridgeline::data {

Transform CenterCrop(Size size) { return {"center_crop", {{"size", size.values}}, ""}; }

Transform RandomCropWithPadding(Size size, std::int64_t padding) {
  return {"random_crop", {{"size", size.values}, {"padding", padding}}, ""};
}

Transform RandomCrop(Size size, RandomCropOptions options) {
  return {"random_crop",
          {{"size", size.values},
           {"padding", options.padding},
           {"pad_if_needed", options.pad_if_needed},
           {"fill", options.fill.values}},
          ""};
}

Transform Crop(std::int64_t top, std::int64_t left, Size size, CropOptions options) {
  return {"crop", {{"top", top}, {"left", left}, {"size", size.values}, {"fill", options.fill.values}}, ""};
}

Transform Pad(std::vector<std::int64_t> padding, PadOptions options) {
  return {"pad",
          {{"padding", std::move(padding)}, {"padding_mode", options.padding_mode}, {"fill", options.fill.values}},
          ""};
}

// ---- windows

image::Size to_size(const Integers& size) { return {static_cast<int>(size.front()), static_cast<int>(size.back())}; }

namespace {

void fill_all(std::uint8_t* data, std::size_t bytes, int channels, image::Colour fill) {
  if (fill[0] == fill[1] && fill[1] == fill[2]) {
    std::memset(data, fill[0], bytes);
    return;
  }
  const auto n = static_cast<std::size_t>(channels);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = fill[std::min<std::size_t>(i % n, 2)];
}

}  // namespace

void window_into(Frame& frame, int top, int left, image::Size size, image::Colour fill) {
  const image::ImageView in = frame.view();
  if (frame.boxes) image::crop_boxes(*frame.boxes, size_of(in), {top, left, size.height, size.width});
  const bool inside = top >= 0 && left >= 0 && top + size.height <= in.height && left + size.width <= in.width;
  if (inside) {
    frame.set(image::crop(in, {top, left, size.height, size.width}));
    return;
  }
  std::uint8_t* target = frame.output(bytes_of(size, in.channels));
  fill_all(target, bytes_of(size, in.channels), in.channels, fill);
  const int first = std::max(0, -left), last = std::min(size.width, in.width - left);
  for (int y = 0; y < size.height && first < last; ++y) {
    if (top + y < 0 || top + y >= in.height) continue;
    std::memcpy(target + (static_cast<std::ptrdiff_t>(y) * size.width + first) * in.channels,
                in.pixel(top + y, left + first),
                static_cast<std::size_t>(last - first) * static_cast<std::size_t>(in.channels));
  }
  frame.set(packed(target, size, in.channels));
}

image::Size new_size(image::Size in, double height, double width) {
  height = std::floor(height), width = std::floor(width);
  if (!(std::min(height, width) >= 1 && std::max(height, width) <= 65535))
    throw Error(
        fmt::format("an image of {}x{} becomes {}x{}, sides must be 1 to 65535", in.height, in.width, height, width));
  return {static_cast<int>(height), static_cast<int>(width)};
}

void center_crop_into(Frame& frame, image::Size size) {
  record_geometry(frame, "center_crop", size);
  const image::CenterCrop crop = image::center_crop(size_of(frame.view()), size);
  window_into(frame, crop.box.top - crop.pad_top, crop.box.left - crop.pad_left, size);
}

namespace {

void record_pad(Frame& frame, const image::Border& border, const std::string& op = "pad") {
  record_geometry(frame, op,
                  {static_cast<double>(border.left), static_cast<double>(border.top), static_cast<double>(border.right),
                   static_cast<double>(border.bottom)});
}

class CenterCropStep : public Step {
 public:
  explicit CenterCropStep(const Transform& t) : size_(to_size(arg<Integers>(t.args, "size"))) {}
  void run(Frame& frame, Scratch&) const override { center_crop_into(frame, size_); }

 private:
  image::Size size_;
};

class CropStep : public Step {
 public:
  explicit CropStep(const Transform& t)
      : top_(static_cast<int>(arg<std::int64_t>(t.args, "top"))),
        left_(static_cast<int>(arg<std::int64_t>(t.args, "left"))),
        size_(to_size(arg<Integers>(t.args, "size"))),
        fill_(colour_of(arg<Integers>(t.args, "fill"))) {}
  void run(Frame& frame, Scratch&) const override {
    record_geometry(frame, "crop", image::Box{top_, left_, size_.height, size_.width});
    window_into(frame, top_, left_, size_, fill_);
  }

 private:
  int top_, left_;
  image::Size size_;
  image::Colour fill_;
};

class RandomCropStep : public Step {
 public:
  RandomCropStep(const Transform& t, std::uint64_t seed)
      : key_(philox_key(seed, t.name)),
        size_(to_size(arg<Integers>(t.args, "size"))),
        padding_(static_cast<int>(arg<std::int64_t>(t.args, "padding"))),
        pad_if_needed_(arg<bool>(t.args, "pad_if_needed")),
        fill_(colour_of(arg<Integers>(t.args, "fill"))) {}

  // torchvision's RandomCrop.get_params: the row, then the column, both ends included. A side that is too short is
  // padded by the missing length on both ends, also as there.
  void run(Frame& frame, Scratch&) const override {
    const auto border = [&](int side, int wanted) {
      const int lacks = wanted - (side + 2 * padding_);
      return pad_if_needed_ && lacks > 0 ? padding_ + lacks : padding_;
    };
    const image::Size in = size_of(frame.view());
    const int above = border(in.height, size_.height), before = border(in.width, size_.width);
    const int spare_rows = in.height + 2 * above - size_.height, spare_columns = in.width + 2 * before - size_.width;
    if (spare_rows < 0 || spare_columns < 0) {
      throw Error(fmt::format(
          "a crop of {}x{} does not fit into an image of {}x{} with {} pixels of padding (pad_if_needed makes it fit)",
          size_.height, size_.width, in.height, in.width, padding_));
    }
    SampleRandom random = frame.random(key_);
    const int top = static_cast<int>(random.integer(0, spare_rows)) - above;
    const int left = static_cast<int>(random.integer(0, spare_columns)) - before;
    if (above > 0 || before > 0) record_pad(frame, {above, before, above, before});
    if (spare_rows > 0 || spare_columns > 0)
      record_geometry(frame, "crop", image::Box{top + above, left + before, size_.height, size_.width});
    window_into(frame, top, left, size_, fill_);
  }

 private:
  PhiloxKey key_;
  image::Size size_;
  int padding_;
  bool pad_if_needed_;
  image::Colour fill_;
};

class PadStep : public Step {
 public:
  explicit PadStep(const Transform& t)
      : mode_(image::parse_border_mode(arg<std::string>(t.args, "padding_mode"))),
        fill_(colour_of(arg<Integers>(t.args, "fill"))) {
    const Integers& p = arg<Integers>(t.args, "padding");  // left, top, right, bottom
    const auto at = [&](std::size_t i) { return static_cast<int>(p[i % p.size()]); };
    border_ = {.top = at(1), .left = at(0), .bottom = at(3), .right = at(2)};
    op_ = mode_ == image::BorderMode::constant ? "pad" : "pad_" + arg<std::string>(t.args, "padding_mode");
  }
  void run(Frame& frame, Scratch&) const override {
    const image::ImageView in = frame.view();
    const image::Size size = image::padded_size(size_of(in), border_);
    if (frame.boxes) image::pad_boxes(*frame.boxes, size_of(in), border_);
    record_pad(frame, border_, op_);
    std::uint8_t* out = frame.output(bytes_of(size, in.channels));
    image::pad(in, border_, mode_, fill_, out);
    frame.set(packed(out, size, in.channels));
  }

 private:
  image::Border border_;
  image::BorderMode mode_;
  std::string op_;  // as geometry is told
  image::Colour fill_;
};

// ---- rules

void check_random_crop(const Transform& t) {
  check_size(t);
  check_fill(t);
  const std::int64_t padding = arg<std::int64_t>(t.args, "padding");
  if (padding < 0 || padding > 65535)
    throw Error(fmt::format("[{}] padding is {}, it must be 0 to 65535", t.op, padding));
}

void check_fixed_crop(const Transform& t) {
  check_size(t);
  check_fill(t);
  for (const char* name : {"top", "left"})
    check_between(t, name, static_cast<double>(arg<std::int64_t>(t.args, name)), -65535, 65535);
}

void check_pad(const Transform& t) {
  check_fill(t);
  check_count(t, "padding", {1, 2, 4});
  for (const std::int64_t side : arg<Integers>(t.args, "padding"))
    check_between(t, "padding", static_cast<double>(side), 0, 65535);
}

Column pad_schema(const Transform& t, const Column& given) {
  Column column = pixels_of(t, given);
  const Integers& p = arg<Integers>(t.args, "padding");  // left, top, right, bottom
  const std::int64_t across = p[0] + p[p.size() == 4 ? 2 : 0], down = p[p.size() > 1 ? 1 : 0] + p.back();
  const auto grown = [](std::int64_t side, std::int64_t by) { return side == kVaries ? kVaries : side + by; };
  column.shape = Shape{grown(column.shape[0], down), grown(column.shape[1], across), column.shape[2]};
  return column;
}

}  // namespace

std::vector<TransformEntry> crop_transforms() {
  return {
      {.op = "center_crop",
       .doc = "the central window, padded with zeros if the image is smaller",
       .args = {size_arg()},
       .check = [](const Transform& t) { check_size(t); },
       .schema = each(crop_schema),
       .step = step<CenterCropStep>},
      {.op = "crop",
       .doc = "a fixed window; pixels outside the image are filled",
       .args = {{.name = "top", .type = ArgType::integer, .doc = "first row; may be negative"},
                {.name = "left", .type = ArgType::integer, .doc = "first column; may be negative"},
                size_arg(),
                fill_arg()},
       .check = check_fixed_crop,
       .schema = each(crop_schema),
       .step = step<CropStep>},
      {.op = "random_crop",
       .doc = "a random window after padding",
       .args = {size_arg(),
                {.name = "padding",
                 .type = ArgType::integer,
                 .doc = "pixels added on every side before cropping",
                 .fallback = std::int64_t{0}},
                {.name = "pad_if_needed",
                 .type = ArgType::boolean,
                 .doc = "pad an image that is too small on both sides, as torchvision does; false: an error",
                 .fallback = false},
                fill_arg()},
       .random = true,
       .check = check_random_crop,
       .schema = each(crop_schema),
       .step = seeded_step<RandomCropStep>},
      {.op = "pad",
       .doc = "pads the image",
       .args = {{.name = "padding",
                 .type = ArgType::integers,
                 .doc = "pixels on [all sides], [left and right, top and bottom] or [left, top, right, bottom]"},
                {.name = "padding_mode",
                 .type = ArgType::text,
                 .doc = "how the border is filled",
                 .fallback = std::string("constant"),
                 .allowed = {"constant", "edge", "reflect", "symmetric"}},
                fill_arg()},
       .check = check_pad,
       .schema = each(pad_schema),
       .step = step<PadStep>},
  };
}

}  // namespace ridgeline::data
