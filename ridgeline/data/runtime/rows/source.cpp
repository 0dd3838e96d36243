#include "ridgeline/data/runtime/rows/rows.h"

namespace ridgeline::data {
namespace {

class SourceRows : public Rows {
 public:
  SourceRows(const Node& node, int place)
      : Rows(static_cast<std::int64_t>(source_of(node).size()), source_of(node).schema()),
        keep_(node.source),
        source_(source_of(node)),
        place_(static_cast<std::size_t>(place)) {}

  RowInfo run(RowAddress a, Targets, Cell* cells, Scratch& scratch) const override {
    Record& record = scratch.work[place_].record;
    try {
      read_record(source_, a.position, record);
    } catch (const Error& e) {
      throw SampleError(e.what(), source_.origin(a.position), "", e.kind());
    }
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < record.cells.size(); ++i) {
      cells[i] = record.cells[i];
      bytes += cells[i].bytes;
    }
    scratch.lap(Part::read, bytes);
    return {a.epoch, a.position, &record.objects};
  }
  void prefetch(RowAddress a, Scratch&) const override { source_.prefetch(a.position); }
  std::string origin(RowAddress a) const override { return source_.origin(a.position); }
  std::uint64_t records() const override { return source_.size(); }

 private:
  std::shared_ptr<SourceHandle> keep_;
  const Source& source_;
  std::size_t place_;
};

// Two readers of one row: the first makes it, the second finds it. Its buffers lie in the places of the nodes below,
// which nobody else writes.
class SharedRows : public Rows {
 public:
  SharedRows(RowsPtr input, int place)
      : Rows(input->size(), input->schema()), input_(std::move(input)), place_(static_cast<std::size_t>(place)) {}
  bool has(RowAddress a) const override { return input_->has(a); }
  std::int64_t count(std::uint64_t epoch) const override { return input_->count(epoch); }

  RowInfo run(RowAddress a, Targets, Cell* cells, Scratch& scratch) const override {
    Workspace& work = scratch.work[place_];
    if (work.serial != scratch.serial || work.epoch != a.epoch || work.position != a.position) {
      work.serial = 0;  // if it fails
      work.cells.resize(schema().size());
      const RowInfo info = input_->run(a, {}, work.cells.data(), scratch);
      work.row_epoch = info.epoch;
      work.row_record = info.record;
      work.objects = info.objects;
      work.epoch = a.epoch;
      work.position = a.position;
      work.serial = scratch.serial;
    }
    std::copy(work.cells.begin(), work.cells.end(), cells);
    return {work.row_epoch, work.row_record, work.objects};
  }
  std::string origin(RowAddress a) const override { return input_->origin(a); }
  std::uint64_t records() const override { return input_->records(); }

 private:
  RowsPtr input_;
  std::size_t place_;
};

}  // namespace

RowsPtr make_source_rows(const Node& node, int place) { return std::make_shared<SourceRows>(node, place); }
RowsPtr make_shared_rows(RowsPtr input, int place) { return std::make_shared<SharedRows>(std::move(input), place); }

}  // namespace ridgeline::data
