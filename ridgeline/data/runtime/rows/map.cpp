#include <algorithm>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/geometry_column.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/runtime/rows/rows.h"
#include "ridgeline/data/sample/step.h"

namespace ridgeline::data {
namespace {

std::size_t fixed_bytes(const Column& column) {
  std::size_t bytes = size_of(column.dtype);
  for (const std::int64_t extent : column.shape) bytes *= extent == kVaries ? 0 : static_cast<std::size_t>(extent);
  return bytes;
}

class MapRows : public Rows {
 public:
  MapRows(const Node& node, RowsPtr input, Schema schema, int first_place, std::uint64_t seed)
      : Rows(input->size(), std::move(schema)),
        input_(std::move(input)),
        place_(static_cast<std::size_t>(first_place)) {
    const bool in_slot = node.hints.contains("write_slots");
    for (const std::string& name : columns_of(node)) {
      const Column* column = find_column(this->schema(), name);
      columns_.push_back({static_cast<std::size_t>(column - this->schema().data()), fixed_bytes(*column)});
    }
    for (const Transform& operation : node.operations) {
      const bool fused = transform_entry(operation.op).fused_sequence;
      steps_.push_back({fused ? operation.operations[0].op : operation.op, make_step(operation, seed)});
      if (in_slot && steps_.back().step->writes()) writer_ = steps_.size();
    }
    for (const Transform& operation : node.operations) {
      if (!transform_entry(operation.op).adds_flip) continue;
      flip_ = find_column(this->schema(), kFlipColumn) - this->schema().data();
    }
    const Column* geometry = find_column(this->schema(), kGeometryColumn);
    const bool recorded_below = find_column(input_->schema(), kGeometryColumn) != nullptr;
    RIDGELINE_CHECK(
        this->schema().size() == input_->schema().size() + (flip_ >= 0 ? 1 : 0) + (geometry && !recorded_below ? 1 : 0),
        "a map adds the columns of flips and of geometry and no other");
    const std::vector<std::string>& names = columns_of(node);
    const auto image = std::find(names.begin(), names.end(), kImageColumn);
    if (image == names.end()) return;
    image_ = image - names.begin();
    const auto changed = [&](const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); };
    if (geometry && !changed(kGeometryColumn) && geometry->dtype == DType::bytes) {
      geometry_ = geometry - this->schema().data();
      goes_on_recording_ = recorded_below;
    }
    const Column* boxes = find_column(this->schema(), kBoxesColumn);
    if (!boxes || changed(kBoxesColumn) || boxes->dtype != DType::f32 || boxes->shape.rank() != 2 ||
        boxes->shape[1] != 4)
      return;
    boxes_ = boxes - this->schema().data();
    const Column* labels = find_column(this->schema(), kBoxLabelsColumn);
    if (labels && !changed(kBoxLabelsColumn) && labels->dtype == DType::i32 && labels->shape.rank() == 1)
      box_labels_ = labels - this->schema().data();
  }

  bool has(RowAddress a) const override { return input_->has(a); }
  std::int64_t count(std::uint64_t epoch) const override { return input_->count(epoch); }
  std::string origin(RowAddress a) const override { return input_->origin(a); }
  std::uint64_t records() const override { return input_->records(); }
  void prefetch(RowAddress a, Scratch& scratch) const override { input_->prefetch(a, scratch); }

  RowInfo run(RowAddress a, Targets targets, Cell* cells, Scratch& scratch) const override {
    Workspace& work = scratch.at(place_);
    const std::size_t given = input_->schema().size();
    work.targets.assign(given, nullptr);
    if (!targets.empty()) std::copy_n(targets.begin(), given, work.targets.begin());
    for (const Target& column : columns_) work.targets[column.index] = nullptr;
    RowInfo info = input_->run(a, work.targets, cells, scratch);
    work.flip = 0;
    const std::string* op = nullptr;
    try {
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        const std::size_t index = columns_[i].index;
        Frame frame{.cell = cells[index], .row = info, .place = place_ + i, .work = &scratch.at(place_ + i)};
        if (image_ >= 0) take_boxes(cells, info, frame);
        if (goes_on_recording_ && static_cast<std::ptrdiff_t>(i) == image_) take_geometry(cells, frame);
        frame.slot_bytes = columns_[i].bytes;
        for (std::size_t k = 0; k < steps_.size(); ++k) {
          op = &steps_[k].op;
          if (k + 1 == writer_ && !targets.empty() && frame.slot_bytes > 0)
            frame.slot = static_cast<std::uint8_t*>(targets[index]);
          steps_[k].step->run(frame, scratch);
        }
        cells[index] = frame.cell;
        scratch.lap(Part::pixels, frame.cell.bytes);
      }
    } catch (const Error& e) {
      const std::string origin = input_->origin(a);
      throw SampleError(origin + ": " + e.what() + (op ? " (in " + *op + ")" : ""), origin, op ? *op : "", e.kind());
    }
    if (flip_ >= 0) cells[flip_] = dense_cell(&work.flip, DType::u8, {});
    if (image_ < 0) return info;
    Workspace& of_image = scratch.at(place_ + static_cast<std::size_t>(image_));
    if (geometry_ >= 0) cells[geometry_] = bytes_cell(of_image.geometry.data(), of_image.geometry.size());
    if (boxes_ >= 0) put_boxes(of_image, cells);
    if (boxes_ >= 0 || info.objects) info.objects = &of_image.boxes;
    return info;
  }

 private:
  struct Target {
    std::size_t index, bytes;
  };
  struct Named {
    std::string op;
    std::unique_ptr<Step> step;
  };

  // Every column carries its own boxes through the steps, so that draws that depend on them are the same for all.
  void take_boxes(const Cell* cells, const RowInfo& info, Frame& frame) const {
    std::vector<image::ObjectBox>& boxes = frame.work->boxes;
    if (boxes_ >= 0) {
      const Cell& cell = cells[boxes_];
      boxes.resize(static_cast<std::size_t>(cell.dims[0]));
      const auto* values = reinterpret_cast<const float*>(cell.data);
      for (std::size_t i = 0; i < boxes.size(); ++i)
        boxes[i] = {values[4 * i], values[4 * i + 1], values[4 * i + 2], values[4 * i + 3]};
    } else if (info.objects) {
      boxes = *info.objects;
    } else {
      return;
    }
    frame.boxes = &boxes;
    frame.row.objects = &boxes;
    if (box_labels_ < 0) return;
    const Cell& cell = cells[box_labels_];
    std::vector<std::int32_t>& labels = frame.work->box_labels;
    labels.resize(static_cast<std::size_t>(cell.dims[0]));
    if (labels.size() != boxes.size())
      throw Error(std::to_string(boxes.size()) + " boxes have " + std::to_string(labels.size()) + " box_labels");
    copy_cell(cell, labels.data());
    frame.box_labels = &labels;
  }
  void take_geometry(const Cell* cells, Frame& frame) const {
    const Cell& cell = cells[geometry_];
    frame.work->geometry.assign(reinterpret_cast<const char*>(cell.data), cell.bytes);
    frame.geometry = &frame.work->geometry;
  }
  void put_boxes(Workspace& work, Cell* cells) const {
    work.box_values.clear();
    for (const image::ObjectBox& box : work.boxes) {
      for (const float side : {box.ymin, box.xmin, box.ymax, box.xmax}) work.box_values.push_back(side);
    }
    const auto count = static_cast<std::int64_t>(work.boxes.size());
    cells[boxes_] = dense_cell(work.box_values.data(), DType::f32, {count, 4});
    if (box_labels_ >= 0) cells[box_labels_] = dense_cell(work.box_labels.data(), DType::i32, {count});
  }

  RowsPtr input_;
  std::size_t place_;  // and one more for every further column
  std::vector<Target> columns_;
  std::vector<Named> steps_;
  std::size_t writer_ = 0;    // counted from 1: the step that writes into the batch; 0: none
  std::ptrdiff_t flip_ = -1;  // the column that draw_flip adds; -1: none
  // The image among the map's columns, whose geometry boxes follow, and the columns of the row; -1: none.
  std::ptrdiff_t image_ = -1, boxes_ = -1, box_labels_ = -1;
  // The column that says what was done to the image; -1: none. It begins here, or below.
  std::ptrdiff_t geometry_ = -1;
  bool goes_on_recording_ = false;
};

}  // namespace

RowsPtr make_map_rows(const Node& node, RowsPtr input, Schema schema, int first_place, std::uint64_t seed) {
  return std::make_shared<MapRows>(node, std::move(input), std::move(schema), first_place, seed);
}

}  // namespace ridgeline::data
