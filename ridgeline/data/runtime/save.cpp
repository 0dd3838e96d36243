#include "ridgeline/data/runtime/save.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/runtime/pipeline.h"
#include "ridgeline/format/packed.h"

namespace ridgeline::data {
namespace {

PackedSchema packed_schema(const Dataset& dataset, const Schema& columns) {
  PackedSchema schema;
  for (const Column& column : columns)
    schema.columns.push_back({column.name, column.dtype, column.dtype == DType::bytes ? Shape{} : column.shape});
  schema.class_names = dataset.class_names();
  return schema;
}

// Hands out positions and keeps the first error by position.
class Turns {
 public:
  explicit Turns(std::uint64_t rows) : rows_(rows) {}
  bool next(std::uint64_t& position) { return (position = next_.fetch_add(1)) < rows_; }
  void fail(std::uint64_t position, std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (error_ && position > failed_) return;
    failed_ = position;
    error_ = std::move(error);
    next_ = rows_;  // rows before are all handed out already: the lowest error is met
  }
  void done(const std::function<void(std::int64_t, std::int64_t)>& progress) {
    const std::lock_guard lock(mutex_);
    ++done_;
    if (progress) progress(static_cast<std::int64_t>(done_), static_cast<std::int64_t>(rows_));
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::uint64_t rows_;
  std::atomic<std::uint64_t> next_{0};
  std::mutex mutex_;
  std::uint64_t failed_ = 0, done_ = 0;
  std::exception_ptr error_;
};

void write_row(const Rows& rows, RowAddress address, Scratch& scratch, PackedWriter& writer) {
  std::vector<Cell>& cells = scratch.cells;
  cells.resize(rows.schema().size());
  scratch.begin();
  rows.run(address, {}, cells.data(), scratch);
  std::vector<PackedValue> values;
  std::vector<std::vector<std::uint8_t>> dense(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::span<const std::uint8_t> bytes{cells[i].data, cells[i].bytes};
    if (cells[i].row_bytes != 0) {
      dense[i].resize(cells[i].bytes);
      copy_cell(cells[i], dense[i].data());
      bytes = dense[i];
    }
    values.push_back({bytes, {cells[i].dims.data(), static_cast<std::size_t>(cells[i].rank)}});
  }
  writer.add(address.position, values);
}

}  // namespace

std::int64_t save(const Dataset& dataset, const std::string& path, const SaveOptions& options) {
  if (batch_node(dataset.graph())) throw Error("[save] writes rows: leave batch out of the dataset");
  const Pipeline pipeline(dataset, {});
  const Rows& rows = pipeline.rows();
  if (rows.size() == kForever) throw Error("[save] the dataset has no end: leave repeat out, or add take");
  const std::int64_t count = rows.count(options.epoch);
  if (count == 0) throw Error("[save] the dataset has no rows");
  PackedWriter writer(path, packed_schema(dataset, rows.schema()), dataset.to_json());
  Turns turns(static_cast<std::uint64_t>(count));
  const auto work = [&] {
    Scratch scratch(pipeline.places());
    for (std::uint64_t position = 0; turns.next(position);) {
      try {
        write_row(rows, {options.epoch, position}, scratch, writer);
        turns.done(options.progress);
      } catch (...) {
        turns.fail(position, std::current_exception());
      }
    }
  };
  const int workers = options.workers > 0 ? options.workers : static_cast<int>(std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  for (int i = 1; i < std::max(1, workers); ++i) threads.emplace_back(work);
  work();
  threads.clear();
  turns.rethrow();
  writer.finish(static_cast<std::size_t>(count));
  return count;
}

}  // namespace ridgeline::data
