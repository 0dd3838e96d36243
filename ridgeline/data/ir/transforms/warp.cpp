#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ridgeline/data/ir/transforms/entries.h"
#include "ridgeline/image/warp.h"
#include "ridgeline/image/warp_draw.h"

namespace ridgeline::data {
namespace {

constexpr double kAny = -std::numeric_limits<double>::infinity();

ArgSpec degrees_arg() {
  return {.name = "degrees", .type = ArgType::reals, .doc = "[most]: from -most to most; or [least, most]"};
}
ArgSpec center_arg() {
  return {.name = "center",
          .type = ArgType::reals,
          .doc = "[x, y] in pixels that stays where it is; empty: the middle",
          .fallback = Reals{}};
}
ArgSpec expand_arg() {
  return {.name = "expand",
          .type = ArgType::boolean,
          .doc = "a result as large as the turned image needs",
          .fallback = false};
}

void check_range(const Transform& t, const std::string& name, double least) {
  check_count(t, name, {1, 2});
  const Reals& range = arg<Reals>(t.args, name);
  check_reals(t, name, range.size() == 1 ? 0 : least);
  if (range.size() == 2 && range[0] > range[1])
    throw Error(fmt::format("[{}] {} goes from {} down to {}", t.op, name, range[0], range[1]));
}

void check_center(const Transform& t) {
  check_count(t, "center", {0, 2});
  check_fill(t);
}

void check_random_rotation(const Transform& t) {
  check_range(t, "degrees", kAny);
  check_center(t);
}

void check_affine(const Transform& t) {
  check_center(t);
  for (const char* name : {"translate", "shear"}) check_count(t, name, {2});
  const Reals &translate = arg<Reals>(t.args, "translate"), &shear = arg<Reals>(t.args, "shear");
  image::affine_matrix(
      {arg<double>(t.args, "angle"), translate[0], translate[1], arg<double>(t.args, "scale"), shear[0], shear[1]}, 0,
      0);
}

void check_random_affine(const Transform& t) {
  check_range(t, "degrees", kAny);
  check_center(t);
  check_count(t, "translate", {0, 2});
  for (const double share : arg<Reals>(t.args, "translate")) check_between(t, "translate", share, 0, 1);
  check_count(t, "scale", {0, 2});
  const Reals &scale = arg<Reals>(t.args, "scale"), &shear = arg<Reals>(t.args, "shear");
  for (const double factor : scale) {
    if (!(factor > 0)) throw Error(fmt::format("[{}] scale is {}, it must be positive", t.op, factor));
  }
  check_count(t, "shear", {0, 1, 2, 4});
  check_reals(t, "shear", shear.size() == 1 ? 0 : kAny);
  const bool reversed = (scale.size() == 2 && scale[0] > scale[1]) || (shear.size() >= 2 && shear[0] > shear[1]) ||
                        (shear.size() == 4 && shear[2] > shear[3]);
  if (reversed) throw Error(fmt::format("[{}] scale and shear must not go down", t.op));
}

void check_random_perspective(const Transform& t) {
  check_probability(t);
  check_fill(t);
  check_between(t, "distortion_scale", arg<double>(t.args, "distortion_scale"), 0, 1);
}

void check_pad(const Transform& t) {
  check_fill(t);
  check_count(t, "padding", {1, 2, 4});
  for (const std::int64_t side : arg<Integers>(t.args, "padding"))
    check_between(t, "padding", static_cast<double>(side), 0, 65535);
}

// An image that may grow by turning has no known size.
Column rotated_schema(const Transform& t, const Column& given) {
  Column column = pixels_of(t, given);
  if (arg<bool>(t.args, "expand")) column.shape = Shape{kVaries, kVaries, column.shape[2]};
  return column;
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

std::vector<TransformEntry> warp_entries() {
  ArgSpec bilinear = sampling_arg();
  bilinear.fallback = std::string("bilinear");
  return {
      {.op = "rotate",
       .doc = "turns by a fixed angle, against the clock",
       .args = {{.name = "angle", .type = ArgType::real, .doc = "degrees"},
                sampling_arg(),
                expand_arg(),
                center_arg(),
                fill_arg()},
       .check = check_center,
       .schema = each(rotated_schema)},
      {.op = "random_rotation",
       .doc = "turns by a random angle",
       .args = {degrees_arg(), sampling_arg(), expand_arg(), center_arg(), fill_arg()},
       .random = true,
       .check = check_random_rotation,
       .schema = each(rotated_schema)},
      {.op = "affine",
       .doc = "turns (with the clock), shears, scales and moves",
       .args = {{.name = "angle", .type = ArgType::real, .doc = "degrees", .fallback = 0.0},
                {.name = "translate", .type = ArgType::reals, .doc = "[x, y] in pixels", .fallback = Reals{0, 0}},
                {.name = "scale", .type = ArgType::real, .doc = "factor", .fallback = 1.0},
                {.name = "shear", .type = ArgType::reals, .doc = "[x, y] in degrees", .fallback = Reals{0, 0}},
                sampling_arg(),
                center_arg(),
                fill_arg()},
       .check = check_affine,
       .schema = each(pixels_of)},
      {.op = "random_affine",
       .doc = "turns, moves, scales and shears at random, about the middle",
       .args = {degrees_arg(),
                {.name = "translate",
                 .type = ArgType::reals,
                 .doc = "most movement [x, y] as a share of width and height; empty: none",
                 .fallback = Reals{}},
                {.name = "scale", .type = ArgType::reals, .doc = "[least, most]; empty: none", .fallback = Reals{}},
                {.name = "shear",
                 .type = ArgType::reals,
                 .doc = "degrees: [most], [least, most] across, or four with those down; empty: none",
                 .fallback = Reals{}},
                sampling_arg(),
                center_arg(),
                fill_arg()},
       .random = true,
       .check = check_random_affine,
       .schema = each(pixels_of)},
      {.op = "random_perspective",
       .doc = "moves the corners inwards at random",
       .args = {{.name = "distortion_scale",
                 .type = ArgType::real,
                 .doc = "how far, as a share of half a side",
                 .fallback = 0.5},
                p_arg(),
                std::move(bilinear),
                fill_arg()},
       .random = true,
       .check = check_random_perspective,
       .schema = each_without_boxes(pixels_of)},
      {.op = "pad",
       .doc = "widens the image by a border",
       .args = {{.name = "padding",
                 .type = ArgType::integers,
                 .doc = "[all sides], [left and right, top and bottom] or [left, top, right, bottom]"},
                {.name = "padding_mode",
                 .type = ArgType::text,
                 .doc = "what the border shows",
                 .fallback = std::string("constant"),
                 .allowed = {"constant", "edge", "reflect", "symmetric"}},
                fill_arg()},
       .check = check_pad,
       .schema = each(pad_schema)},
  };
}

}  // namespace ridgeline::data
