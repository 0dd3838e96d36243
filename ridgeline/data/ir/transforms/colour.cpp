#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ridgeline/data/ir/transforms/entries.h"

namespace ridgeline::data {
namespace {

ArgSpec factor_arg() {
  return {.name = "factor",
          .type = ArgType::real,
          .doc = "0: the poorer version (black, grey, without colour, smoothed), 1: the image, more: beyond it"};
}
ArgSpec bits_arg() { return {.name = "bits", .type = ArgType::integer, .doc = "upper bits that stay, 0 to 8"}; }
ArgSpec threshold_arg() {
  return {.name = "threshold", .type = ArgType::real, .doc = "least value that is inverted, 0 to 255"};
}

void check_factor(const Transform& t) {
  const double factor = arg<double>(t.args, "factor");
  if (factor < 0) throw Error(fmt::format("[{}] factor is {}, it must be at least 0", t.op, factor));
}
void check_hue(const Transform& t) { check_between(t, "factor", arg<double>(t.args, "factor"), -0.5, 0.5); }
void check_bits(const Transform& t) {
  check_between(t, "bits", static_cast<double>(arg<std::int64_t>(t.args, "bits")), 0, 8);
}
void check_threshold(const Transform& t) { check_between(t, "threshold", arg<double>(t.args, "threshold"), 0, 255); }

void check_channels(const Transform& t) {
  const auto channels = arg<std::int64_t>(t.args, "channels");
  if (channels != 1 && channels != 3)
    throw Error(fmt::format("[{}] channels is {}, it must be 1 or 3", t.op, channels));
}

Column grayscale_schema(const Transform& t, const Column& given) {
  Column column = pixels_of(t, given);
  column.shape = Shape{column.shape[0], column.shape[1], arg<std::int64_t>(t.args, "channels")};
  return column;
}

TransformEntry entry(const char* op, const char* doc, std::vector<ArgSpec> args,
                     std::function<void(const Transform&)> check) {
  return {.op = op, .doc = doc, .args = std::move(args), .check = std::move(check), .schema = each(pixels_of)};
}

}  // namespace

std::vector<TransformEntry> colour_entries() {
  return {
      entry("adjust_brightness", "a blend with black", {factor_arg()}, check_factor),
      entry("adjust_contrast", "a blend with the mean grey", {factor_arg()}, check_factor),
      entry("adjust_saturation", "a blend with the image without colour", {factor_arg()}, check_factor),
      entry("adjust_sharpness", "a blend with the smoothed image", {factor_arg()}, check_factor),
      entry("adjust_hue", "turns the hue",
            {{.name = "factor", .type = ArgType::real, .doc = "share of the circle, -0.5 to 0.5"}}, check_hue),
      entry("invert", "255 - v", {}, {}),
      entry("posterize", "keeps the upper bits", {bits_arg()}, check_bits),
      entry("solarize", "inverts bright values", {threshold_arg()}, check_threshold),
      entry("autocontrast", "stretches each channel to 0..255", {}, {}),
      entry("equalize", "spreads each channel's histogram evenly", {}, {}),
      {.op = "grayscale",
       .doc = "luma instead of colours",
       .args = {{.name = "channels",
                 .type = ArgType::integer,
                 .doc = "of the result, 1 or 3",
                 .fallback = std::int64_t{1}}},
       .check = check_channels,
       .schema = each(grayscale_schema)},
  };
}

}  // namespace ridgeline::data
