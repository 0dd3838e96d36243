#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ridgeline/data/ir/registry.h"
#include "ridgeline/image/geometry.h"
#include "ridgeline/image/resample.h"

namespace ridgeline::data {
namespace {

std::vector<std::string> filters() {
  std::vector<std::string> names;
  for (const image::Filter f : {image::Filter::nearest, image::Filter::box, image::Filter::bilinear,
                                image::Filter::bicubic, image::Filter::lanczos, image::Filter::tf1_bilinear}) {
    names.emplace_back(image::name_of(f));
  }
  return names;
}

// ---- argument specifications that several transforms share

ArgSpec size_arg(const char* doc = "[side] or [height, width]") {
  return {.name = "size", .type = ArgType::integers, .doc = doc};
}
ArgSpec filter_arg() {
  return {.name = "interpolation",
          .type = ArgType::text,
          .doc = "filter of the resampling",
          .fallback = std::string("bilinear"),
          .allowed = filters()};
}
ArgSpec mean_arg() { return {.name = "mean", .type = ArgType::reals, .doc = "per channel, as a share of 255"}; }
ArgSpec std_arg() { return {.name = "std", .type = ArgType::reals, .doc = "per channel, as a share of 255; positive"}; }
ArgSpec p_arg() { return {.name = "p", .type = ArgType::real, .doc = "probability", .fallback = 0.5}; }
std::vector<ArgSpec> crop_args() {
  return {size_arg(),
          {.name = "scale",
           .type = ArgType::reals,
           .doc = "least and greatest share of the area",
           .fallback = Reals{0.08, 1.0}},
          {.name = "ratio",
           .type = ArgType::reals,
           .doc = "least and greatest width over height",
           .fallback = Reals{3.0 / 4, 4.0 / 3}},
          filter_arg(),
          {.name = "min_object_covered",
           .type = ArgType::real,
           .doc = "share of one of a record's bounding boxes that a crop must contain; 0 ignores boxes",
           .fallback = 0.1}};
}

// ---- checks

void check_size(const Transform& t, const char* name = "size") {
  const Integers& size = arg<Integers>(t.args, name);
  if (size.empty() || size.size() > 2)
    throw Error(fmt::format("[{}] {} has {} numbers, it must have 1 or 2", t.op, name, size.size()));
  for (const std::int64_t side : size) {
    if (side < 1 || side > 65535) throw Error(fmt::format("[{}] {} is {}, sides must be 1 to 65535", t.op, name, side));
  }
}

void check_probability(const Transform& t) {
  const double p = arg<double>(t.args, "p");
  if (!(p >= 0 && p <= 1)) throw Error(fmt::format("[{}] p is {}, it must be between 0 and 1", t.op, p));
}

void check_normalize(const Transform& t) {
  const Reals& mean = arg<Reals>(t.args, "mean");
  const Reals& std = arg<Reals>(t.args, "std");
  if (mean.size() != std.size() || (mean.size() != 1 && mean.size() != 3)) {
    throw Error(
        fmt::format("[{}] mean has {} and std {} numbers, both must have 1 or 3", t.op, mean.size(), std.size()));
  }
  for (const double m : mean) {
    if (!std::isfinite(m)) throw Error(fmt::format("[{}] mean is not finite", t.op));
  }
  for (const double s : std) {
    if (!(s > 0) || !std::isfinite(s)) throw Error(fmt::format("[{}] std is {}, it must be positive", t.op, s));
  }
}

void check_write(const Transform& t) {
  check_probability(t);
  if (!arg<Reals>(t.args, "mean").empty() || !arg<Reals>(t.args, "std").empty()) check_normalize(t);
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
  image::check_crop_law({scale[0], scale[1], ratio[0], ratio[1], 10, covered});
}

void check_random_crop(const Transform& t) {
  check_size(t);
  const std::int64_t padding = arg<std::int64_t>(t.args, "padding");
  if (padding < 0 || padding > 65535)
    throw Error(fmt::format("[{}] padding is {}, it must be 0 to 65535", t.op, padding));
}

// ---- schema rules

Column& image_of(const Transform& t, Schema& schema, bool floats_too = false) {
  const auto found = std::find_if(schema.begin(), schema.end(), [](const Column& c) { return c.name == "image"; });
  if (found == schema.end())
    throw Error(fmt::format("[{}] there is no column 'image' among {}", t.op, to_string(schema)));
  const bool pixels = found->dtype == DType::u8 || (floats_too && found->dtype == DType::f32);
  if (!pixels || found->shape.rank() != 3) {
    throw Error(fmt::format("[{}] needs an image u8[height,width,channels]{}, it gets {}{}", t.op,
                            floats_too ? " or f32" : "", to_string({*found}),
                            found->dtype == DType::f32 ? " (put it before Normalize)" : ""));
  }
  return *found;
}

Schema decode_schema(const Transform& t, Schema schema) {
  const auto found = std::find_if(schema.begin(), schema.end(), [](const Column& c) { return c.name == "image"; });
  if (found == schema.end() || found->dtype != DType::bytes) {
    throw Error(fmt::format("[{}] needs a column 'image' of encoded bytes among {}", t.op, to_string(schema)));
  }
  *found = {"image", DType::u8, Shape{kVaries, kVaries, 3}};
  return schema;
}

void fixed(Column& image, const Integers& size) { image.shape = Shape{size.front(), size.back(), image.shape[2]}; }

Schema crop_schema(const Transform& t, Schema schema) {
  fixed(image_of(t, schema), arg<Integers>(t.args, "size"));
  return schema;
}

Schema resize_schema(const Transform& t, Schema schema) {
  Column& column = image_of(t, schema);
  const Integers& size = arg<Integers>(t.args, "size");
  const Shape in = column.shape;
  if (size.size() == 2) {
    fixed(column, size);
  } else if (in[0] != kVaries && in[1] != kVaries) {
    const image::Size out =
        image::resized_short_side({static_cast<int>(in[0]), static_cast<int>(in[1])}, static_cast<int>(size[0]));
    column.shape = Shape{out.height, out.width, in[2]};
  } else {
    column.shape = Shape{kVaries, kVaries, in[2]};
  }
  return schema;
}

Schema flip_schema(const Transform& t, Schema schema) {
  image_of(t, schema, true);
  return schema;
}

Schema normalize_schema(const Transform& t, Schema schema) {
  Column& column = image_of(t, schema);
  const std::size_t channels = arg<Reals>(t.args, "mean").size();
  if (column.shape[2] != static_cast<std::int64_t>(channels)) {
    throw Error(fmt::format("[{}] mean has {} numbers, the image has {} channels", t.op, channels, column.shape[2]));
  }
  column.dtype = DType::f32;
  return schema;
}

Schema write_schema(const Transform& t, Schema schema) {
  if (arg<Reals>(t.args, "mean").empty()) return flip_schema(t, std::move(schema));
  return normalize_schema(t, std::move(schema));
}

Schema draw_flip_schema(const Transform& t, Schema schema) {
  image_of(t, schema);
  if (find_column(schema, "flip")) throw Error("[draw_flip] there is already a column 'flip'");
  schema.push_back({"flip", DType::u8, Shape{}});
  return schema;
}

}  // namespace

const std::vector<TransformEntry>& transform_table() {
  static const std::vector<TransformEntry> table{
      {.op = "decode",
       .doc = "JPEG or PNG, told by content, to RGB",
       .args = {},
       .needs_pixels = false,
       .check = {},
       .schema = decode_schema},
      {.op = "random_resized_crop",
       .doc = "a random part, resized: torchvision's law, Pillow's resampling",
       .args = crop_args(),
       .check = check_crop,
       .schema = crop_schema},
      {.op = "resize",
       .doc = "one number: the shorter side, ratio kept; two: exactly",
       .args = {size_arg("[shorter side] or [height, width]"), filter_arg()},
       .check = [](const Transform& t) { check_size(t); },
       .schema = resize_schema},
      {.op = "center_crop",
       .doc = "the middle, padded with zeros where the image is smaller",
       .args = {size_arg()},
       .check = [](const Transform& t) { check_size(t); },
       .schema = crop_schema},
      {.op = "random_crop",
       .doc = "a random window after padding with zeros",
       .args =
           {size_arg(),
            {.name = "padding", .type = ArgType::integer, .doc = "pixels on every side", .fallback = std::int64_t{0}}},
       .check = check_random_crop,
       .schema = crop_schema},
      {.op = "random_horizontal_flip",
       .doc = "mirrors left to right, drawn per image",
       .args = {p_arg()},
       .check = check_probability,
       .schema = flip_schema},
      {.op = "normalize",
       .doc = "u8 to f32, (v - 255 mean) / (255 std)",
       .args = {mean_arg(), std_arg()},
       .check = check_normalize,
       .schema = normalize_schema},
      {.op = "decode_random_resized_crop",
       .doc = "decode and random_resized_crop, decoding only what the crop reads",
       .args = crop_args(),
       .made_by_pass = true,
       .needs_pixels = false,
       .check = check_crop,
       .schema = [](const Transform& t, Schema s) { return crop_schema(t, decode_schema(t, std::move(s))); }},
      {.op = "decode_resize_center_crop",
       .doc = "decode, resize and center_crop, decoding only what the crop reads",
       .args = {size_arg("of the crop: [side] or [height, width]"),
                {.name = "resize", .type = ArgType::integers, .doc = "[shorter side] or [height, width]"},
                filter_arg()},
       .made_by_pass = true,
       .needs_pixels = false,
       .check =
           [](const Transform& t) {
             check_size(t);
             check_size(t, "resize");
           },
       .schema = [](const Transform& t, Schema s) { return crop_schema(t, decode_schema(t, std::move(s))); }},
      {.op = "draw_flip",
       .doc = "draws into the column flip and leaves the pixels to the consumer",
       .args = {p_arg()},
       .made_by_pass = true,
       .check = check_probability,
       .schema = draw_flip_schema},
      {.op = "write",
       .doc = "flip and normalize in one pass over the pixels, straight into the batch",
       .args =
           {{.name = "p", .type = ArgType::real, .doc = "probability of the flip; 0: none", .fallback = 0.0},
            {.name = "mean", .type = ArgType::reals, .doc = "as normalize; empty: pixels stay u8", .fallback = Reals{}},
            {.name = "std", .type = ArgType::reals, .doc = "as normalize", .fallback = Reals{}}},
       .made_by_pass = true,
       .check = check_write,
       .schema = write_schema},
  };
  return table;
}

}  // namespace ridgeline::data
