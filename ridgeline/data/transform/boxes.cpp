#include "ridgeline/data/transform/boxes.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/data/sample/step.h"
#include "ridgeline/data/transform/rules.h"
#include "ridgeline/image/boxes.h"

namespace ridgeline::data {

Transform ClipBoxes(ClipBoxesOptions options) {
  return {"clip_boxes", {{"min_area", options.min_area}, {"min_share", options.min_share}}, ""};
}

void keep_labels(Frame& frame, const std::vector<std::size_t>& kept) {
  if (!frame.box_labels) return;
  std::vector<std::int32_t>& labels = *frame.box_labels;
  for (std::size_t i = 0; i < kept.size(); ++i) labels[i] = labels[kept[i]];
  labels.resize(kept.size());
}

Schema boxes_dropped(const Transform& t, Schema schema, const std::vector<std::string>& columns) {
  if (std::find(columns.begin(), columns.end(), kImageColumn) == columns.end())
    throw Error(fmt::format("[{}] belongs into a map of the column image, whose boxes it clips", t.op));
  const Column* boxes = find_column(schema, kBoxesColumn);
  if (!boxes || boxes->dtype != DType::f32 || boxes->shape.rank() != 2 || boxes->shape[1] != 4)
    throw Error(
        fmt::format("[{}] needs a column boxes f32[?,4] beside the image, it gets {}", t.op, to_string(schema)));
  for (Column& column : schema) {
    if (column.name == kBoxesColumn) column.shape = Shape{kVaries, 4};
    if (column.name == kBoxLabelsColumn) column.shape = Shape{kVaries};
  }
  return schema;
}

namespace {

class ClipBoxesStep : public Step {
 public:
  explicit ClipBoxesStep(const Transform& t)
      : rule_{arg<double>(t.args, "min_area"), arg<double>(t.args, "min_share")} {}
  void run(Frame& frame, Scratch&) const override {
    if (!frame.boxes) return;
    const image::Size size{static_cast<int>(frame.cell.dims[0]), static_cast<int>(frame.cell.dims[1])};
    keep_labels(frame, image::clip_and_drop_boxes(*frame.boxes, size, rule_));
  }
  bool writes() const override { return false; }

 private:
  image::BoxRule rule_;
};

void check_clip_boxes(const Transform& t) {
  const double area = arg<double>(t.args, "min_area");
  if (area < 0) throw Error(fmt::format("[{}] min_area is {}, it must be at least 0", t.op, area));
  check_between(t, "min_share", arg<double>(t.args, "min_share"), 0, 1);
}

Schema clip_boxes_schema(const Transform& t, Schema schema, const Columns& columns) {
  return boxes_dropped(t, each(pixels_or_floats_of)(t, std::move(schema), columns), columns);
}

}  // namespace

std::vector<TransformEntry> box_transforms() {
  return {
      {.op = "clip_boxes",
       .doc = "clips boxes to the image and drops small ones together with their box_labels",
       .args = {{.name = "min_area",
                 .type = ArgType::real,
                 .doc = "smallest area in pixels of a box that is kept",
                 .fallback = 1.0},
                {.name = "min_share",
                 .type = ArgType::real,
                 .doc = "smallest share of its former area that must lie inside the image",
                 .fallback = 0.0}},
       .check = check_clip_boxes,
       .schema = clip_boxes_schema,
       .step = step<ClipBoxesStep>},
  };
}

}  // namespace ridgeline::data
