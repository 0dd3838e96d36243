#include <algorithm>

#include "ridgeline/core/ends_run_error.h"
#include "ridgeline/data/runtime/rows/rows.h"
#include "ridgeline/data/source/source.h"

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
    Record& record = scratch.at(place_).record;
    try {
      read_record(source_, a.position, record);
    } catch (const EndsRunError&) {
      throw;  // no fault of the sample
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

// Readers of one row: the first makes it, the others find it. A reader of another row, while the first reader's is
// still in use, uses other workspaces.
class SharedRows : public Rows {
 public:
  SharedRows(RowsPtr input, int first, int place)
      : Rows(input->size(), input->schema()),
        input_(std::move(input)),
        first_(static_cast<std::size_t>(first)),
        place_(static_cast<std::size_t>(place)) {}
  bool has(RowAddress a) const override { return input_->has(a); }
  std::int64_t count(std::uint64_t epoch) const override { return input_->count(epoch); }

  RowInfo run(RowAddress a, Targets, Cell* cells, Scratch& scratch) const override {
    std::vector<SharedRow>& rows = scratch.at(place_).shared;
    std::size_t i = 0;  // those in use come first
    while (i < rows.size() && rows[i].serial == scratch.serial &&
           (rows[i].epoch != a.epoch || rows[i].position != a.position))
      ++i;
    if (i == rows.size()) rows.emplace_back();
    if (rows[i].serial != scratch.serial) make(a, i, scratch);
    const SharedRow& row = rows[i];
    std::copy(row.cells.begin(), row.cells.end(), cells);
    return {row.row_epoch, row.row_record, row.objects};
  }
  std::string origin(RowAddress a) const override { return input_->origin(a); }
  std::uint64_t records() const override { return input_->records(); }

 private:
  void make(RowAddress a, std::size_t i, Scratch& scratch) const {
    SharedRow& row = scratch.at(place_).shared[i];
    row.serial = 0;  // if it fails
    row.cells.resize(schema().size());
    RowInfo info;
    if (i == 0) {
      info = input_->run(a, {}, row.cells.data(), scratch);
    } else {
      for (std::size_t k = row.below.size(); k < place_ - first_; ++k)
        row.below.push_back(std::make_unique<Workspace>());
      swap_below(row, scratch);
      try {
        info = input_->run(a, {}, row.cells.data(), scratch);
      } catch (...) {
        swap_below(row, scratch);
        throw;
      }
      swap_below(row, scratch);
    }
    row.row_epoch = info.epoch;
    row.row_record = info.record;
    row.objects = info.objects;
    row.epoch = a.epoch;
    row.position = a.position;
    row.serial = scratch.serial;
  }
  void swap_below(SharedRow& row, Scratch& scratch) const {
    std::swap_ranges(row.below.begin(), row.below.end(), scratch.work.begin() + static_cast<std::ptrdiff_t>(first_));
  }

  RowsPtr input_;
  std::size_t first_, place_;  // the places of the nodes below are [first, place)
};

}  // namespace

RowsPtr make_source_rows(const Node& node, int place) { return std::make_shared<SourceRows>(node, place); }
RowsPtr make_shared_rows(RowsPtr input, int first, int place) {
  return std::make_shared<SharedRows>(std::move(input), first, place);
}

}  // namespace ridgeline::data
