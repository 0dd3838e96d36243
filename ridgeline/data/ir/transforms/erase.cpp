#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ridgeline/data/ir/transforms/entries.h"
#include "ridgeline/image/erase.h"

namespace ridgeline::data {
namespace {

void check_random_erasing(const Transform& t) {
  check_probability(t);
  check_count(t, "scale", {2});
  check_count(t, "ratio", {2});
  check_count(t, "value", {1, 3});
  const Reals &scale = arg<Reals>(t.args, "scale"), &ratio = arg<Reals>(t.args, "ratio");
  image::check_erasing_law({scale[0], scale[1], ratio[0], ratio[1]});
}

// Bytes can be filled with bytes only.
Column random_erasing_schema(const Transform& t, const Column& given) {
  const Column column = pixels_or_floats_of(t, given);
  for (const double value : arg<Reals>(t.args, "value")) {
    if (column.dtype == DType::u8 && (value != std::floor(value) || value < 0 || value > 255))
      throw Error(fmt::format("[{}] value is {}, pixels u8 take whole ones of 0 to 255", t.op, value));
  }
  return column;
}

void check_cutout(const Transform& t) {
  check_fill(t);
  check_between(t, "length", static_cast<double>(arg<std::int64_t>(t.args, "length")), 1, 65535);
  check_between(t, "num_patches", static_cast<double>(arg<std::int64_t>(t.args, "num_patches")), 1, 1000);
}

}  // namespace

std::vector<TransformEntry> erase_entries() {
  return {
      {.op = "random_erasing",
       .doc = "fills a random rectangle; bytes or, after normalize, f32",
       .args = {p_arg(),
                {.name = "scale",
                 .type = ArgType::reals,
                 .doc = "least and greatest share of the area",
                 .fallback = Reals{0.02, 0.33}},
                {.name = "ratio",
                 .type = ArgType::reals,
                 .doc = "least and greatest height over width",
                 .fallback = Reals{0.3, 3.3}},
                {.name = "value", .type = ArgType::reals, .doc = "1 value or 3", .fallback = Reals{0}},
                {.name = "noise",
                 .type = ArgType::boolean,
                 .doc = "noise instead of the value: standard normal in f32, uniform in u8",
                 .fallback = false}},
       .random = true,
       .check = check_random_erasing,
       .schema = each(random_erasing_schema)},
      {.op = "cutout",
       .doc = "fills squares at random places, cut off at the border",
       .args = {{.name = "length", .type = ArgType::integer, .doc = "side in pixels"},
                {.name = "num_patches", .type = ArgType::integer, .doc = "squares", .fallback = std::int64_t{1}},
                {.name = "law",
                 .type = ArgType::text,
                 .doc = "where they may lie: around any pixel, or as MindData's",
                 .fallback = std::string("centre"),
                 .allowed = {"centre", "mindata"}},
                fill_arg()},
       .random = true,
       .check = check_cutout,
       .schema = each(pixels_of)},
  };
}

}  // namespace ridgeline::data
