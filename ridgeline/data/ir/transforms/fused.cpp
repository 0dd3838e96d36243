#include <fmt/format.h>

#include "ridgeline/data/ir/transforms/entries.h"

namespace ridgeline::data {

namespace {

void check_write(const Transform& t) {
  check_probability(t);
  if (!arg<Reals>(t.args, "mean").empty() || !arg<Reals>(t.args, "std").empty()) check_normalize(t);
}

Column decode_crop_schema(const Transform& t, const Column& column) { return crop_schema(t, decode_schema(t, column)); }

Column write_schema(const Transform& t, const Column& given) {
  const Column column = arg<Reals>(t.args, "mean").empty() ? flip_schema(t, given) : normalize_schema(t, given);
  return arg<std::string>(t.args, "layout") == "chw" ? hwc_to_chw_schema(t, column) : column;
}

void check_resize_write(const Transform& t) {
  const std::vector<Transform>& inner = t.operations;
  if (inner.size() == 2 && transform_entry(inner[0].op).ends_in_resize && inner[1].op == "write") return;
  throw Error("[resize_write] is made of two operations: one that ends in a resize, and write");
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
       .costly = true,
       .ends_in_resize = true,
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
       .costly = true,
       .ends_in_resize = true,
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
       .doc = "flip, normalize and channels first in one pass over the pixels",
       .args =
           {{.name = "p", .type = ArgType::real, .doc = "probability of the flip; 0: none", .fallback = 0.0},
            {.name = "mean", .type = ArgType::reals, .doc = "as normalize; empty: pixels stay u8", .fallback = Reals{}},
            {.name = "std", .type = ArgType::reals, .doc = "as normalize", .fallback = Reals{}},
            {.name = "layout",
             .type = ArgType::text,
             .doc = "channels last or first",
             .fallback = std::string("hwc"),
             .allowed = {"hwc", "chw"}}},
       .made_by_pass = true,
       .random = true,
       .check = check_write,
       .schema = each(write_schema)},
      {.op = "resize_write",
       .doc = "an operation that ends in a resize, whose rows go through a write while they are in cache",
       .args = {},
       .made_by_pass = true,
       .nests = true,
       .fused_sequence = true,
       .check = check_resize_write,
       .schema = after_all},
  };
}

}  // namespace ridgeline::data
