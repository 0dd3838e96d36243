#include <fmt/format.h>

#include <limits>

#include "ridgeline/data/ir/transforms/entries.h"

namespace ridgeline::data {

namespace {

ArgSpec mean_arg() { return {.name = "mean", .type = ArgType::reals, .doc = "per channel, as a share of 255"}; }
ArgSpec std_arg() { return {.name = "std", .type = ArgType::reals, .doc = "per channel, as a share of 255; positive"}; }

Column type_cast_schema(const Transform& t, const Column& given) {
  if (given.dtype == DType::bytes)
    throw Error(fmt::format("[{}] byte strings have no element type: {} (an encoded image needs decode before it)",
                            t.op, to_string({given})));
  Column column = given;
  column.dtype = dtype_named(arg<std::string>(t.args, "dtype"));
  return column;
}

Column rescale_schema(const Transform& t, const Column& given) {
  if (given.dtype != DType::u8 && given.dtype != DType::f32)
    throw Error(fmt::format("[{}] takes u8 or f32, it gets {}", t.op, to_string({given})));
  Column column = given;
  column.dtype = DType::f32;
  return column;
}

void check_one_hot(const Transform& t) {
  if (const auto classes = arg<std::int64_t>(t.args, "classes"); classes < 1 || classes > INT32_MAX)
    throw Error(fmt::format("[one_hot] classes is {}, it must be positive and fit 32 bits", classes));
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
  std::int64_t most = std::numeric_limits<std::int64_t>::max() / 8;  // values of 8 bytes
  for (const std::int64_t extent : shape) {
    if (extent < -1 || (extent == 0 && shape.size() > 1) || shape.size() > 4)
      throw Error("[function] shape must have at most 4 extents, positive or -1; [0] stands for a single number");
    if (extent > most) throw Error("[function] shape has more values than can be counted");
    if (extent > 0) most /= extent;
  }
}

Column function_schema(const Transform& t, const Column& given) {
  Column column = given;
  const std::string& dtype = arg<std::string>(t.args, "dtype");
  const Integers& shape = arg<Integers>(t.args, "shape");
  if (!dtype.empty()) column.dtype = dtype_named(dtype);
  if (shape == Integers{0})
    column.shape = Shape{};
  else if (!shape.empty())
    column.shape = Shape(shape);
  return column;
}

}  // namespace

std::vector<TransformEntry> value_entries() {
  return {
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
       .any_value = true,
       .schema = each(type_cast_schema)},
      {.op = "rescale",
       .doc = "to f32: x * scale + shift",
       .args = {{.name = "scale", .type = ArgType::real, .doc = "factor"},
                {.name = "shift", .type = ArgType::real, .doc = "added after", .fallback = 0.0}},
       .any_value = true,
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
       .costly = true,
       .check = check_function,
       .schema = each(function_schema)},
  };
}

}  // namespace ridgeline::data
