#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/data/ir/transforms/entries.h"
#include "ridgeline/image/geometry.h"

namespace ridgeline::data {

namespace {

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

}  // namespace

std::vector<TransformEntry> geometry_entries() {
  return {
      {.op = "decode",
       .doc = "JPEG or PNG, told by content, to RGB",
       .args = {},
       .needs_pixels = false,
       .costly = true,
       .check = {},
       .schema = each(decode_schema)},
      {.op = "random_resized_crop",
       .doc = "a random part, resized: torchvision's law, Pillow's resampling",
       .args = crop_args(),
       .random = true,
       .ends_in_resize = true,
       .check = check_crop,
       .schema = each(crop_schema)},
      {.op = "resize",
       .doc = "one number: the shorter side, ratio kept; two: exactly",
       .args = {size_arg("[shorter side] or [height, width]"), filter_arg(), size_rule_arg()},
       .ends_in_resize = true,
       .check = [](const Transform& t) { check_size(t); },
       .schema = each(resize_schema)},
      {.op = "center_crop",
       .doc = "the middle, padded with zeros where the image is smaller",
       .args = {size_arg()},
       .check = [](const Transform& t) { check_size(t); },
       .schema = each(crop_schema)},
      {.op = "crop",
       .doc = "a fixed window; what lies outside the image is filled",
       .args = {{.name = "top", .type = ArgType::integer, .doc = "first row; may be negative"},
                {.name = "left", .type = ArgType::integer, .doc = "first column; may be negative"},
                size_arg(),
                fill_arg()},
       .check = check_fixed_crop,
       .schema = each(crop_schema)},
      {.op = "random_crop",
       .doc = "a random window after padding",
       .args = {size_arg(),
                {.name = "padding",
                 .type = ArgType::integer,
                 .doc = "pixels added on every side before",
                 .fallback = std::int64_t{0}},
                {.name = "pad_if_needed",
                 .type = ArgType::boolean,
                 .doc = "pad a side that is too short on both ends instead of an error, as torchvision does",
                 .fallback = false},
                fill_arg()},
       .random = true,
       .check = check_random_crop,
       .schema = each(crop_schema)},
      {.op = "random_horizontal_flip",
       .doc = "mirrors left to right, drawn per image",
       .args = {p_arg()},
       .random = true,
       .check = check_probability,
       .schema = each(flip_schema)},
      {.op = "random_vertical_flip",
       .doc = "mirrors top to bottom",
       .args = {p_arg()},
       .random = true,
       .check = check_probability,
       .schema = each(flip_schema)},
  };
}

}  // namespace ridgeline::data
