#include <algorithm>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/runtime/step.h"

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
    for (const std::string& name : columns_of(node)) {
      const Column* column = find_column(this->schema(), name);
      columns_.push_back({static_cast<std::size_t>(column - this->schema().data()), fixed_bytes(*column)});
    }
    for (const Transform& operation : node.operations) {
      steps_.push_back({operation.op, make_step(operation, seed)});
      if (steps_.back().step->writes()) last_writer_ = steps_.size() - 1;
    }
    flip_ = this->schema().size() > input_->schema().size();  // draw_flip's column, the last one
    const Column* boxes = find_column(this->schema(), "boxes");
    if (boxes && boxes->dtype == DType::f32 && boxes->shape.rank() == 2 && boxes->shape[1] == 4)
      boxes_ = boxes - this->schema().data();
  }

  bool has(RowAddress a) const override { return input_->has(a); }
  std::int64_t count(std::uint64_t epoch) const override { return input_->count(epoch); }
  std::string origin(RowAddress a) const override { return input_->origin(a); }
  std::uint64_t records() const override { return input_->records(); }

  RowInfo run(RowAddress a, Targets targets, Cell* cells, Scratch& scratch) const override {
    Workspace& work = scratch.work[place_];
    const std::size_t given = input_->schema().size();
    work.targets.assign(given, nullptr);
    if (!targets.empty()) std::copy_n(targets.begin(), given, work.targets.begin());
    for (const Target& column : columns_) work.targets[column.index] = nullptr;
    RowInfo info = input_->run(a, work.targets, cells, scratch);
    if (boxes_ >= 0) {
      take_boxes(cells[boxes_], work.boxes);
      info.objects = &work.boxes;
    }
    work.flip = 0;
    const std::string* op = nullptr;
    try {
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        const std::size_t index = columns_[i].index;
        Frame frame{.cell = cells[index], .row = info, .work = &scratch.work[place_ + i]};
        if (boxes_ >= 0 && i == 0) frame.boxes = &work.boxes;
        frame.slot_bytes = columns_[i].bytes;
        for (std::size_t k = 0; k < steps_.size(); ++k) {
          op = &steps_[k].op;
          if (k == last_writer_ && !targets.empty() && frame.slot_bytes > 0)
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
    if (flip_) cells[schema().size() - 1] = dense_cell(&work.flip, DType::u8, {});
    if (boxes_ >= 0) cells[boxes_] = put_boxes(work);
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

  static void take_boxes(const Cell& cell, std::vector<image::ObjectBox>& boxes) {
    boxes.resize(static_cast<std::size_t>(cell.dims[0]));
    const auto* values = reinterpret_cast<const float*>(cell.data);
    for (std::size_t i = 0; i < boxes.size(); ++i)
      boxes[i] = {values[4 * i], values[4 * i + 1], values[4 * i + 2], values[4 * i + 3]};
  }
  static Cell put_boxes(Workspace& work) {
    work.box_values.clear();
    for (const image::ObjectBox& box : work.boxes) {
      for (const double side : {box.ymin, box.xmin, box.ymax, box.xmax})
        work.box_values.push_back(static_cast<float>(side));
    }
    return dense_cell(work.box_values.data(), DType::f32, {static_cast<std::int64_t>(work.boxes.size()), 4});
  }

  RowsPtr input_;
  std::size_t place_;  // and one more for every further column
  std::vector<Target> columns_;
  std::vector<Named> steps_;
  std::size_t last_writer_ = 0;
  bool flip_ = false;
  std::ptrdiff_t boxes_ = -1;
};

}  // namespace

std::uint8_t* Frame::output(std::size_t bytes) {
  if (slot) {
    RIDGELINE_CHECK(bytes == slot_bytes, "the last step writes another size than the schema says");
    return slot;
  }
  std::vector<std::uint8_t>& buffer = work->buffers[turn ^= 1];
  if (buffer.size() < bytes) buffer.resize(bytes);
  return buffer.data();
}

std::unique_ptr<Step> make_step(const Transform& transform, std::uint64_t seed) {
  if (auto step = make_geometry_step(transform, seed)) return step;
  if (auto step = make_tail_step(transform, seed)) return step;
  if (auto step = make_value_step(transform)) return step;
  throw InternalError("no step for transform " + transform.op);
}

RowsPtr make_map_rows(const Node& node, RowsPtr input, Schema schema, int first_place, std::uint64_t seed) {
  return std::make_shared<MapRows>(node, std::move(input), std::move(schema), first_place, seed);
}

}  // namespace ridgeline::data
