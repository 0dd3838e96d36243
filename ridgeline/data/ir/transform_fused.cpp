#include <fmt/format.h>

#include "ridgeline/data/ir/transform_entries.h"

namespace ridgeline::data {

namespace {

void check_write(const Transform& t) {
  check_probability(t);
  if (!arg<Reals>(t.args, "mean").empty() || !arg<Reals>(t.args, "std").empty()) check_normalize(t);
}

Column flip_schema(const Transform& t, const Column& column) { return image_of(t, column, true); }

Column decode_crop_schema(const Transform& t, const Column& column) { return crop_schema(t, decode_schema(t, column)); }

Column write_schema(const Transform& t, const Column& column) {
  return arg<Reals>(t.args, "mean").empty() ? flip_schema(t, column) : normalize_schema(t, column);
}

Schema draw_flip_schema(const Transform& t, Schema schema, const Columns& columns) {
  schema = each([](const Transform& u, const Column& c) { return image_of(u, c); })(t, std::move(schema), columns);
  if (find_column(schema, "flip")) throw Error("[draw_flip] there is already a column 'flip'");
  schema.push_back({"flip", DType::u8, Shape{}});
  return schema;
}

}  // namespace

std::vector<TransformEntry> fused_entries() {
  return {
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
                filter_arg(),
                size_rule_arg()},
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
}

}  // namespace ridgeline::data
