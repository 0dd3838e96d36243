#include "ridgeline/data/source/generator.h"

#include <fmt/format.h>

#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "ridgeline/core/memory.h"
#include "ridgeline/core/random.h"
#include "ridgeline/data/ir/functions.h"
#include "ridgeline/data/ir/generators.h"
#include "ridgeline/data/source/arguments.h"
#include "ridgeline/data/source/source_entry.h"

namespace ridgeline::data {

Dataset FromGenerator(const std::string& name) { return source_dataset("generator", {{"name", name}}); }
Dataset FromStream(const std::string& name) { return source_dataset("generator", {{"name", name}, {"stream", true}}); }

namespace {

// The row that a record's cells point into.
struct GeneratorWork : Record::Work {
  std::vector<Tensor> row;
};

// Moves a row into the record after checking it against the declaration.
void put_row(std::vector<Tensor> row, const Schema& schema, Record& record) {
  if (row.size() != schema.size())
    throw Error(fmt::format("the row has {} columns, {} are declared", row.size(), schema.size()));
  std::vector<Tensor>& kept = record.work_as<GeneratorWork>().row = std::move(row);
  record.objects.clear();
  record.cells.clear();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const Tensor& value = kept[i];
    bool right = value.defined() && value.dtype() == schema[i].dtype;
    if (right && value.dtype() == DType::bytes) {
      right = value.string_values().size() == 1;
      if (right) record.cells.push_back(bytes_cell(value.string_values()[0].data(), value.string_values()[0].size()));
    } else if (right) {
      const std::vector<std::int64_t>& dims = value.shape().dims();
      right = value.shape().rank() == schema[i].shape.rank();
      for (int d = 0; right && d < value.shape().rank(); ++d)
        right = schema[i].shape[d] == kVaries || schema[i].shape[d] == value.shape()[d];
      if (right) record.cells.push_back(dense_cell(value.raw(), value.dtype(), dims));
    }
    if (!right) {
      throw Error(fmt::format("column {} is declared, {}{} was given", to_string({schema[i]}),
                              value.defined() ? name_of(value.dtype()) : "nothing",
                              value.defined() ? value.shape().to_string() : ""));
    }
  }
}

class GeneratorSource : public Source {
 public:
  explicit GeneratorSource(const Node& node)
      : name_(arg<std::string>(node.args, "name")), generator_(generator_named(name_)) {}
  std::uint64_t size() const override { return static_cast<std::uint64_t>(generator_.rows); }
  Schema schema() const override { return generator_.schema; }
  void read(std::uint64_t index, Record& record) const override {
    put_row(call_user("the generator", [&] { return generator_.row(static_cast<std::int64_t>(index)); }),
            generator_.schema, record);
  }
  std::string origin(std::uint64_t index) const override { return fmt::format("[generator] {}: row {}", name_, index); }
  std::uint64_t fingerprint() const override {
    return hash64(
        fmt::format("{} {} {}", name_, generator_.rows, generator_.version.number("generator '" + name_ + "'")));
  }

 private:
  std::string name_;
  const Generator& generator_;
};

class StreamSource : public Source {
 public:
  explicit StreamSource(const Node& node) : name_(arg<std::string>(node.args, "name")), stream_(stream_named(name_)) {}
  std::uint64_t size() const override { return static_cast<std::uint64_t>(stream_.rows); }
  Schema schema() const override { return stream_.schema; }
  bool in_turn() const override { return true; }
  void read(std::uint64_t index, Record& record) const override { put_row(row(index), stream_.schema, record); }
  std::string origin(std::uint64_t index) const override { return fmt::format("[stream] {}: row {}", name_, index); }
  std::uint64_t fingerprint() const override {
    return hash64(fmt::format("{} {} {}", name_, stream_.rows, stream_.version.number("stream '" + name_ + "'")));
  }

 private:
  using Row = std::vector<Tensor>;
  struct Kept {
    Row row;
    bool delivered = false;
  };

  Row row(std::uint64_t index) const {
    const std::lock_guard lock(mutex_);
    if (const auto found = kept_.find(index); found != kept_.end()) {
      Row row = found->second.row;
      if (!std::exchange(found->second.delivered, true)) delivered(index, row);
      return row;
    }
    if (index < next_) close();
    try {
      if (!next_row_) next_row_ = call_user("the generator", stream_.open);
      while (true) {
        Row row = call_user("the generator", next_row_);
        if (row.empty())
          throw Error(fmt::format("the stream ends after {} rows, {} are declared", next_, stream_.rows));
        // The stream may fill the same memory again for its next row.
        for (Tensor& value : row) value = value.clone();
        const bool wanted = next_++ == index;
        kept_.emplace(next_ - 1, Kept{row, wanted});
        if (wanted) delivered(index, row);
        if (static_cast<std::int64_t>(kept_.size()) > stream_.window) let_go();
        if (wanted) return row;
      }
    } catch (...) {
      // After an error a stream's position is unknown: the next row restarts it.
      close();
      throw;
    }
  }
  // Filters and buckets read a row before it is made, so a delivered one is soon read a second time.
  void delivered(std::uint64_t index, const Row& row) const {
    delivered_.push_back(index);
    delivered_bytes_ += bytes_of(row);
    while (delivered_bytes_ > delivered_limit_) let_go();
  }
  // Drops the row that was delivered first, or the lowest of those that were not delivered.
  void let_go() const {
    const auto row = delivered_.empty() ? kept_.begin() : kept_.find(delivered_.front());
    if (row->second.delivered) {
      delivered_bytes_ -= bytes_of(row->second.row);
      delivered_.pop_front();
    }
    kept_.erase(row);
  }
  static std::int64_t bytes_of(const Row& row) {
    std::size_t bytes = 0;
    for (const Tensor& value : row) {
      if (value.dtype() != DType::bytes) {
        bytes += value.byte_size();
      } else if (value.defined()) {
        for (const std::string& text : value.string_values()) bytes += text.size();
      }
    }
    return static_cast<std::int64_t>(bytes);
  }
  void close() const {
    next_row_ = nullptr;
    next_ = 0;
    kept_.clear();
    delivered_.clear();
    delivered_bytes_ = 0;
  }

  std::string name_;
  const StreamGenerator& stream_;
  mutable std::mutex mutex_;
  mutable std::function<std::vector<Tensor>()> next_row_;
  mutable std::uint64_t next_ = 0;               // of the row that it gives next
  mutable std::map<std::uint64_t, Kept> kept_;   // by index: skipped, or delivered
  mutable std::deque<std::uint64_t> delivered_;  // those of kept_, in their order
  mutable std::int64_t delivered_bytes_ = 0;
  // A stream that is read in order would do without them: a sixteenth of the memory, as for JPEG indices.
  const std::int64_t delivered_limit_ = available_memory() / 16;
};

std::unique_ptr<Source> open_generator(const Node& node) {
  if (arg<bool>(node.args, "stream")) return std::make_unique<StreamSource>(node);
  return std::make_unique<GeneratorSource>(node);
}

}  // namespace

SourceEntry generator_source() {
  return {.op = "generator",
          .doc = "rows from user code",
          .args = {{.name = "name",
                    .type = ArgType::text,
                    .doc = "name given to register_generator or register_stream",
                    .code = true},
                   flag_arg("stream", "rows can only be read in order (register_stream)", false)},
          .check = [](const Node& node) { not_empty(node, "name"); },
          .open = open_generator};
}

}  // namespace ridgeline::data
