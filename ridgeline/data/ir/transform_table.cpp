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

// ---- schema rules: each makes one column out of one column

using Columns = std::vector<std::string>;
using Rule = Column (*)(const Transform&, const Column&);

// The rule for all columns that the map names.
auto each(Rule rule) {
  return [rule](const Transform& t, Schema schema, const Columns& columns) {
    for (const std::string& name : columns) {
      const auto found = std::find_if(schema.begin(), schema.end(), [&](const Column& c) { return c.name == name; });
      if (found == schema.end())
        throw Error(fmt::format("[{}] there is no column '{}' among {}", t.op, name, to_string(schema)));
      *found = rule(t, *found);
    }
    return schema;
  };
}

Column image_of(const Transform& t, const Column& column, bool floats_too = false) {
  const bool pixels = column.dtype == DType::u8 || (floats_too && column.dtype == DType::f32);
  if (!pixels || column.shape.rank() != 3) {
    throw Error(fmt::format("[{}] needs an image u8[height,width,channels]{}, it gets {}{}", t.op,
                            floats_too ? " or f32" : "", to_string({column}),
                            column.dtype == DType::f32 ? " (put it before Normalize)" : ""));
  }
  return column;
}

Column decode_schema(const Transform& t, const Column& column) {
  if (column.dtype != DType::bytes)
    throw Error(fmt::format("[{}] needs a column of encoded bytes, it gets {}", t.op, to_string({column})));
  return {column.name, DType::u8, Shape{kVaries, kVaries, 3}};
}

Column fixed(Column image, const Integers& size) {
  image.shape = Shape{size.front(), size.back(), image.shape[2]};
  return image;
}

Column crop_schema(const Transform& t, const Column& column) {
  return fixed(image_of(t, column), arg<Integers>(t.args, "size"));
}

Column decode_crop_schema(const Transform& t, const Column& column) { return crop_schema(t, decode_schema(t, column)); }

Column resize_schema(const Transform& t, const Column& given) {
  Column column = image_of(t, given);
  const Integers& size = arg<Integers>(t.args, "size");
  const Shape in = column.shape;
  if (size.size() == 2) return fixed(column, size);
  if (in[0] != kVaries && in[1] != kVaries) {
    const image::Size out =
        image::resized_short_side({static_cast<int>(in[0]), static_cast<int>(in[1])}, static_cast<int>(size[0]));
    column.shape = Shape{out.height, out.width, in[2]};
  } else {
    column.shape = Shape{kVaries, kVaries, in[2]};
  }
  return column;
}

Column flip_schema(const Transform& t, const Column& column) { return image_of(t, column, true); }

Column normalize_schema(const Transform& t, const Column& given) {
  Column column = image_of(t, given);
  const std::size_t channels = arg<Reals>(t.args, "mean").size();
  if (column.shape[2] != static_cast<std::int64_t>(channels)) {
    throw Error(fmt::format("[{}] mean has {} numbers, the image has {} channels", t.op, channels, column.shape[2]));
  }
  column.dtype = DType::f32;
  return column;
}

Column write_schema(const Transform& t, const Column& column) {
  return arg<Reals>(t.args, "mean").empty() ? flip_schema(t, column) : normalize_schema(t, column);
}

Column type_cast_schema(const Transform& t, const Column& given) {
  if (given.dtype == DType::bytes) throw Error("[type_cast] byte strings have no element type: " + to_string({given}));
  Column column = given;
  column.dtype = *parse_dtype(arg<std::string>(t.args, "dtype"));
  return column;
}

Column rescale_schema(const Transform& t, const Column& given) {
  if (given.dtype != DType::u8 && given.dtype != DType::f32)
    throw Error(fmt::format("[{}] takes u8 or f32, it gets {}", t.op, to_string({given})));
  Column column = given;
  column.dtype = DType::f32;
  return column;
}

Column hwc_to_chw_schema(const Transform& t, const Column& given) {
  Column column = image_of(t, given, true);
  column.shape = Shape{given.shape[2], given.shape[0], given.shape[1]};
  return column;
}

void check_one_hot(const Transform& t) {
  if (arg<std::int64_t>(t.args, "classes") < 1)
    throw Error(fmt::format("[one_hot] classes is {}, it must be positive", arg<std::int64_t>(t.args, "classes")));
  const double smoothing = arg<double>(t.args, "smoothing");
  if (!(smoothing >= 0 && smoothing < 1))
    throw Error(fmt::format("[one_hot] smoothing is {}, it must be at least 0 and below 1", smoothing));
}

Column one_hot_schema(const Transform& t, const Column& given) {
  if ((given.dtype != DType::i32 && given.dtype != DType::i64) || given.shape.rank() != 0)
    throw Error(fmt::format("[{}] takes a class, i32 or i64 without extents, it gets {}", t.op, to_string({given})));
  return {given.name, DType::f32, Shape{arg<std::int64_t>(t.args, "classes")}};
}

void check_function(const Transform& t) {
  if (arg<std::string>(t.args, "name").empty()) throw Error("[function] name is empty");
  const Integers& shape = arg<Integers>(t.args, "shape");
  for (const std::int64_t extent : shape) {
    if (extent < -1 || (extent == 0 && shape.size() > 1) || shape.size() > 4)
      throw Error("[function] shape must have at most 4 extents, positive or -1; [0] stands for a single number");
  }
}

Column function_schema(const Transform& t, const Column& given) {
  Column column = given;
  const std::string& dtype = arg<std::string>(t.args, "dtype");
  const Integers& shape = arg<Integers>(t.args, "shape");
  if (!dtype.empty()) column.dtype = *parse_dtype(dtype);
  if (shape == Integers{0})
    column.shape = Shape{};
  else if (!shape.empty())
    column.shape = Shape(shape);
  return column;
}

Schema draw_flip_schema(const Transform& t, Schema schema, const Columns& columns) {
  schema = each([](const Transform& u, const Column& c) { return image_of(u, c); })(t, std::move(schema), columns);
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
       .schema = each(decode_schema)},
      {.op = "random_resized_crop",
       .doc = "a random part, resized: torchvision's law, Pillow's resampling",
       .args = crop_args(),
       .random = true,
       .check = check_crop,
       .schema = each(crop_schema)},
      {.op = "resize",
       .doc = "one number: the shorter side, ratio kept; two: exactly",
       .args = {size_arg("[shorter side] or [height, width]"), filter_arg()},
       .check = [](const Transform& t) { check_size(t); },
       .schema = each(resize_schema)},
      {.op = "center_crop",
       .doc = "the middle, padded with zeros where the image is smaller",
       .args = {size_arg()},
       .check = [](const Transform& t) { check_size(t); },
       .schema = each(crop_schema)},
      {.op = "random_crop",
       .doc = "a random window after padding with zeros",
       .args =
           {size_arg(),
            {.name = "padding", .type = ArgType::integer, .doc = "pixels on every side", .fallback = std::int64_t{0}}},
       .random = true,
       .check = check_random_crop,
       .schema = each(crop_schema)},
      {.op = "random_horizontal_flip",
       .doc = "mirrors left to right, drawn per image",
       .args = {p_arg()},
       .random = true,
       .check = check_probability,
       .schema = each(flip_schema)},
      {.op = "normalize",
       .doc = "u8 to f32, (v - 255 mean) / (255 std)",
       .args = {mean_arg(), std_arg()},
       .check = check_normalize,
       .schema = each(normalize_schema)},
      {.op = "type_cast",
       .doc = "another element type; floating values lose their fraction in whole ones",
       .args = {{.name = "dtype",
                 .type = ArgType::text,
                 .doc = "of the result",
                 .allowed = {"f64", "f32", "bf16", "f16", "u8", "i32", "i64", "bool"}}},
       .schema = each(type_cast_schema)},
      {.op = "rescale",
       .doc = "to f32: x * scale + shift",
       .args = {{.name = "scale", .type = ArgType::real, .doc = "factor"},
                {.name = "shift", .type = ArgType::real, .doc = "added after", .fallback = 0.0}},
       .schema = each(rescale_schema)},
      {.op = "hwc_to_chw", .doc = "channels first", .args = {}, .schema = each(hwc_to_chw_schema)},
      {.op = "one_hot",
       .doc = "a class to f32 of all classes",
       .args = {{.name = "classes", .type = ArgType::integer, .doc = "number of classes"},
                {.name = "smoothing",
                 .type = ArgType::real,
                 .doc = "share that is spread over all classes alike",
                 .fallback = 0.0}},
       .needs_pixels = false,
       .check = check_one_hot,
       .schema = each(one_hot_schema)},
      {.op = "function",
       .doc = "a function of the user's own, by the name that register_function got",
       .args = {{.name = "name", .type = ArgType::text, .doc = "registered name"},
                {.name = "dtype",
                 .type = ArgType::text,
                 .doc = "of its result; empty: unchanged",
                 .fallback = std::string(),
                 .allowed = {"", "f64", "f32", "bf16", "f16", "u8", "i32", "i64", "bool", "bytes"}},
                {.name = "shape",
                 .type = ArgType::integers,
                 .doc = "of its result, -1 for an extent that varies; empty: unchanged, [0]: a single number",
                 .fallback = Integers{}}},
       .needs_pixels = false,
       .check = check_function,
       .schema = each(function_schema)},
      {.op = "decode_random_resized_crop",
       .doc = "decode and random_resized_crop, decoding only what the crop reads",
       .args = crop_args(),
       .made_by_pass = true,
       .needs_pixels = false,
       .random = true,
       .check = check_crop,
       .schema = each(decode_crop_schema)},
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
       .schema = each(decode_crop_schema)},
      {.op = "draw_flip",
       .doc = "draws into the column flip and leaves the pixels to the consumer",
       .args = {p_arg()},
       .made_by_pass = true,
       .random = true,
       .check = check_probability,
       .schema = draw_flip_schema},
      {.op = "write",
       .doc = "flip and normalize in one pass over the pixels, straight into the batch",
       .args =
           {{.name = "p", .type = ArgType::real, .doc = "probability of the flip; 0: none", .fallback = 0.0},
            {.name = "mean", .type = ArgType::reals, .doc = "as normalize; empty: pixels stay u8", .fallback = Reals{}},
            {.name = "std", .type = ArgType::reals, .doc = "as normalize", .fallback = Reals{}}},
       .made_by_pass = true,
       .random = true,
       .check = check_write,
       .schema = each(write_schema)},
  };
  return table;
}

}  // namespace ridgeline::data
