// Operations of whole batches, and those on the boxes beside an image.
#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/data/ir/transforms/entries.h"

namespace ridgeline::data {
namespace {

ArgSpec alpha_arg() {
  return {.name = "alpha",
          .type = ArgType::real,
          .doc = "both parameters of the Beta distribution of the shares; small: mostly one sample",
          .fallback = 1.0};
}

void check_alpha(const Transform& t) {
  const double alpha = arg<double>(t.args, "alpha");
  if (alpha <= 0) throw Error(fmt::format("[{}] alpha is {}, it must be positive", t.op, alpha));
}

Schema mixed_schema(const Transform& t, Schema schema, const Columns&) {
  const Column *image = find_column(schema, "image"), *label = find_column(schema, "label");
  if (!image || !label)
    throw Error(fmt::format("[{}] needs the columns image and label, it gets {}", t.op, to_string(schema)));
  const std::vector<std::int64_t>& dims = image->shape.dims();
  const bool fixed = std::none_of(dims.begin() + (dims.empty() ? 0 : 1), dims.end(),
                                  [](std::int64_t extent) { return extent == kVaries; });
  if ((image->dtype != DType::u8 && image->dtype != DType::f32) || dims.size() != 4 || !fixed)
    throw Error(fmt::format("[{}] needs images u8 or f32 of one size, it gets {}", t.op, to_string({*image})));
  if (label->dtype != DType::f32 || label->shape.rank() != 2 || label->shape[1] == kVaries) {
    throw Error(
        fmt::format("[{}] mixes labels as f32 [classes], it gets {}: put map_columns({{\"label\"}}, "
                    "{{OneHot(classes)}}) before batch",
                    t.op, to_string({*label})));
  }
  return schema;
}

// Boxes lie on the pixels of the image: channels first would be read wrongly.
Schema cutmix_schema(const Transform& t, Schema schema, const Columns& columns) {
  schema = mixed_schema(t, std::move(schema), columns);
  const Column& image = *find_column(schema, "image");
  if (image.shape[3] != 1 && image.shape[3] != 3) {
    throw Error(fmt::format("[{}] needs channels in the last place, it gets {}: leave out hwc_to_chw before batch",
                            t.op, to_string({image})));
  }
  return schema;
}

void check_clip_boxes(const Transform& t) {
  const double area = arg<double>(t.args, "min_area");
  if (area < 0) throw Error(fmt::format("[{}] min_area is {}, it must be at least 0", t.op, area));
  check_between(t, "min_share", arg<double>(t.args, "min_share"), 0, 1);
}

Schema clip_boxes_schema(const Transform& t, Schema schema, const Columns& columns) {
  schema = each(pixels_or_floats_of)(t, std::move(schema), columns);
  if (std::find(columns.begin(), columns.end(), "image") == columns.end())
    throw Error(fmt::format("[{}] belongs into a map of the column image, whose boxes it clips", t.op));
  const Column* boxes = find_column(schema, "boxes");
  if (!boxes || boxes->dtype != DType::f32 || boxes->shape.rank() != 2 || boxes->shape[1] != 4)
    throw Error(
        fmt::format("[{}] needs a column boxes f32[?,4] beside the image, it gets {}", t.op, to_string(schema)));
  for (Column& column : schema) {
    if (column.name == "boxes") column.shape = Shape{kVaries, 4};
    if (column.name == "box_labels") column.shape = Shape{kVaries};
  }
  return schema;
}

}  // namespace

std::vector<TransformEntry> batch_operation_entries() {
  return {
      {.op = "mixup",
       .doc = "a blend of each sample and its one-hot label with the one before it",
       .args = {alpha_arg()},
       .needs_pixels = false,
       .random = true,
       .whole_batch = true,
       .check = check_alpha,
       .schema = mixed_schema},
      {.op = "cutmix",
       .doc = "a rectangle of the sample before in each sample, labels by its share",
       .args = {alpha_arg()},
       .needs_pixels = false,
       .random = true,
       .whole_batch = true,
       .check = check_alpha,
       .schema = cutmix_schema},
  };
}

std::vector<TransformEntry> box_entries() {
  return {
      {.op = "clip_boxes",
       .doc = "cuts boxes off at the image's borders, and drops small ones with their box_labels",
       .args = {{.name = "min_area", .type = ArgType::real, .doc = "least pixels of a box that stays", .fallback = 1.0},
                {.name = "min_share",
                 .type = ArgType::real,
                 .doc = "least share of its former area inside the image",
                 .fallback = 0.0}},
       .check = check_clip_boxes,
       .schema = clip_boxes_schema},
  };
}

}  // namespace ridgeline::data
