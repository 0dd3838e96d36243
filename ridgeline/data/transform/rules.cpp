#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "ridgeline/data/transform/rules.h"
#include "ridgeline/image/augment/warp.h"
#include "ridgeline/image/resample/filter.h"

namespace ridgeline::data {

// ---- arguments

ArgSpec size_arg(const char* doc) { return {.name = "size", .type = ArgType::integers, .doc = doc}; }

ArgSpec filter_arg() {
  std::vector<std::string> names;
  for (const image::Filter filter : image::all_filters()) names.emplace_back(image::name_of(filter));
  return {.name = "interpolation",
          .type = ArgType::text,
          .doc = "resampling filter",
          .fallback = std::string("bilinear"),
          .allowed = std::move(names)};
}

ArgSpec sampling_arg() {
  return {.name = "interpolation",
          .type = ArgType::text,
          .doc = "interpolation between pixels",
          .fallback = std::string("nearest"),
          .allowed = {"nearest", "bilinear", "bicubic"}};
}

ArgSpec fill_arg() {
  return {.name = "fill",
          .type = ArgType::integers,
          .doc = "colour of pixels outside the image: 1 value or 3, 0 to 255",
          .fallback = Integers{0}};
}

ArgSpec p_arg(double fallback) {
  return {.name = "p", .type = ArgType::real, .doc = "probability", .fallback = fallback};
}

// ---- checks

void check_size(const Transform& t, const char* name) {
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

void check_fill(const Transform& t, const char* name) {
  check_count(t, name, {1, 3});
  for (const std::int64_t value : arg<Integers>(t.args, name)) {
    if (value < 0 || value > 255) throw Error(fmt::format("[{}] {} is {}, colours are 0 to 255", t.op, name, value));
  }
}

void check_count(const Transform& t, const std::string& name, std::initializer_list<std::size_t> allowed) {
  const Value& value = t.args.at(name);
  const std::size_t count =
      std::holds_alternative<Integers>(value) ? std::get<Integers>(value).size() : std::get<Reals>(value).size();
  if (std::find(allowed.begin(), allowed.end(), count) != allowed.end()) return;
  throw Error(fmt::format("[{}] {} has {} numbers, it must have {}", t.op, name, count, fmt::join(allowed, " or ")));
}

void check_reals(const Transform& t, const std::string& name, double least) {
  for (const double value : arg<Reals>(t.args, name)) {
    if (value < least) throw Error(fmt::format("[{}] {} is {}, it must be at least {}", t.op, name, value, least));
  }
}

void check_between(const Transform& t, const std::string& name, double value, double low, double high) {
  if (!(value >= low && value <= high))
    throw Error(fmt::format("[{}] {} is {}, it must be {} to {}", t.op, name, value, low, high));
}

// ---- schema rules

SchemaRule each(Rule rule) {
  return [rule = std::move(rule)](const Transform& t, Schema schema, const Columns& columns) {
    for (const std::string& name : columns) {
      const auto found = std::find_if(schema.begin(), schema.end(), [&](const Column& c) { return c.name == name; });
      if (found == schema.end())
        throw Error(fmt::format("[{}] there is no column '{}' among {}", t.op, name, to_string(schema)));
      *found = rule(t, *found);
    }
    return schema;
  };
}

Column image_of(const Transform& t, const Column& column, bool floats_too) {
  const bool pixels = column.dtype == DType::u8 || (floats_too && column.dtype == DType::f32);
  if (!pixels || column.shape.rank() != 3) {
    throw Error(fmt::format("[{}] needs an image u8[height,width,channels]{}, it gets {}{}", t.op,
                            floats_too ? " or f32" : "", to_string({column}),
                            column.dtype == DType::f32 ? " (put it before Normalize)" : ""));
  }
  return column;
}

namespace {

Column with_pixels(const Transform& t, Column image) {
  if (const std::int64_t channels = image.shape[2]; channels != 1 && channels != 3) {
    throw Error(fmt::format("[{}] needs an image with 1 or 3 channels in the last place, it gets {}", t.op,
                            to_string({image})));
  }
  return image;
}

}  // namespace

Column pixels_of(const Transform& t, const Column& column) { return with_pixels(t, image_of(t, column)); }
Column pixels_or_floats_of(const Transform& t, const Column& column) {
  return with_pixels(t, image_of(t, column, true));
}

Column flip_schema(const Transform& t, const Column& column) { return image_of(t, column, true); }

Column crop_schema(const Transform& t, const Column& given) {
  Column column = image_of(t, given);
  const Integers& size = arg<Integers>(t.args, "size");
  column.shape = Shape{size.front(), size.back(), column.shape[2]};
  return column;
}

Schema after_all(const Transform& t, Schema schema, const Columns& columns) {
  for (const Transform& operation : t.operations)
    schema = transform_entry(operation.op).schema(operation, std::move(schema), columns);
  return schema;
}

}  // namespace ridgeline::data
