#include "ridgeline/data/transform/recorded.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ridgeline/data/ir/geometry_column.h"
#include "ridgeline/data/sample/geometry.h"
#include "ridgeline/data/sample/step.h"
#include "ridgeline/data/transform/rules.h"
#include "ridgeline/image/sniff.h"

namespace ridgeline::data {

Transform RecordGeometry() { return {"record_geometry", {}, ""}; }
Transform NoteGeometry(std::string text) { return {"note_geometry", {{"text", std::move(text)}}, ""}; }

namespace {

class RecordGeometryStep : public Step {
 public:
  explicit RecordGeometryStep(const Transform&) {}
  void run(Frame& frame, Scratch&) const override {
    frame.geometry = &frame.work->geometry;
    frame.geometry->clear();
    const bool encoded = frame.cell.dtype == DType::bytes;
    record_geometry(
        frame, "size",
        encoded ? image::size_of_picture(frame.encoded(), image::ExifOrientation::ignore) : size_of(frame.view()));
  }
  bool writes() const override { return false; }
};

class NoteGeometryStep : public Step {
 public:
  explicit NoteGeometryStep(const Transform& t) : line_("note " + arg<std::string>(t.args, "text") + "\n") {}
  void run(Frame& frame, Scratch&) const override {
    if (frame.geometry) frame.geometry->append(line_);
  }
  bool writes() const override { return false; }

 private:
  std::string line_;
};

// ---- rules

void check_image_is_mapped(const Transform& t, const Columns& columns) {
  if (std::find(columns.begin(), columns.end(), kImageColumn) == columns.end())
    throw Error(fmt::format("[{}] belongs into a map of the column image", t.op));
}

Schema record_geometry_schema(const Transform& t, Schema schema, const Columns& columns) {
  check_image_is_mapped(t, columns);
  if (find_column(schema, kGeometryColumn))
    throw Error(fmt::format("[{}] there is already a column '{}'", t.op, kGeometryColumn));
  const Column* image = find_column(schema, kImageColumn);
  if (image && image->dtype != DType::bytes) pixels_of(t, *image);
  schema.push_back({kGeometryColumn, DType::bytes, Shape{}});
  return schema;
}

Schema note_geometry_schema(const Transform& t, Schema schema, const Columns& columns) {
  check_image_is_mapped(t, columns);
  if (!find_column(schema, kGeometryColumn)) throw Error(fmt::format("[{}] belongs behind record_geometry", t.op));
  return schema;
}

void check_note(const Transform& t) {
  if (arg<std::string>(t.args, "text").find('\n') != std::string::npos)
    throw Error(fmt::format("[{}] text must be one line", t.op));
}

}  // namespace

std::vector<TransformEntry> recorded_transforms() {
  return {
      {.op = "record_geometry",
       .doc = "adds the column image_geometry, a record of what the following transforms do to the image's geometry",
       .args = {},
       .needs_pixels = false,
       .schema = record_geometry_schema,
       .step = step<RecordGeometryStep>},
      {.op = "note_geometry",
       .doc = "adds a line to the column image_geometry",
       .args = {{.name = "text", .type = ArgType::text, .doc = "the line"}},
       .needs_pixels = false,
       .check = check_note,
       .schema = note_geometry_schema,
       .step = step<NoteGeometryStep>},
  };
}

}  // namespace ridgeline::data
