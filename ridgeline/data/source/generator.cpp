// Rows from the user's own code: by index, or one after the other.
#include "ridgeline/data/ir/generators.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "ridgeline/data/source/sources.h"

namespace ridgeline::data {
namespace {

// Copies a row into the record, after a look whether it is what was declared.
void put_row(const std::vector<Tensor>& row, const Schema& schema, const std::string& origin, Record& record) {
  if (row.size() != schema.size())
    throw Error(fmt::format("{}: {} columns, {} are declared", origin, row.size(), schema.size()));
  record.objects.clear();
  record.cells.clear();
  record.numbers.resize(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Tensor& value = row[i];
    std::vector<std::uint8_t>& kept = record.numbers[i];
    if (value.defined() && value.dtype() == DType::bytes && schema[i].dtype == DType::bytes) {
      const std::string& text = value.string_values().at(0);
      kept.assign(text.begin(), text.end());
      record.cells.push_back(bytes_cell(kept.data(), kept.size()));
      continue;
    }
    const std::vector<std::int64_t> dims = value.defined() ? value.shape().dims() : std::vector<std::int64_t>{};
    bool right = value.defined() && value.dtype() == schema[i].dtype && value.shape().rank() == schema[i].shape.rank();
    for (std::size_t d = 0; right && d < dims.size(); ++d)
      right = schema[i].shape[static_cast<int>(d)] == kVaries || schema[i].shape[static_cast<int>(d)] == dims[d];
    if (!right) {
      throw Error(fmt::format("{}: column {} is declared, {}{} was given", origin, to_string({schema[i]}),
                              value.defined() ? name_of(value.dtype()) : "nothing",
                              value.defined() ? value.shape().to_string() : ""));
    }
    const auto* data = static_cast<const std::uint8_t*>(value.raw());
    kept.assign(data, data + value.byte_size());
    record.cells.push_back(dense_cell(kept.data(), value.dtype(), dims));
  }
}

class GeneratorSource : public Source {
 public:
  explicit GeneratorSource(const Node& node)
      : name_(arg<std::string>(node.args, "name")), generator_(generator_named(name_)) {}
  std::uint64_t size() const override { return static_cast<std::uint64_t>(generator_.rows); }
  Schema schema() const override { return generator_.schema; }
  void read(std::uint64_t index, Record& record) const override {
    put_row(generator_.row(static_cast<std::int64_t>(index)), generator_.schema, origin(index), record);
  }
  std::string origin(std::uint64_t index) const override { return fmt::format("[generator] {}: row {}", name_, index); }
  std::int64_t num_classes() const override { return 0; }

 private:
  std::string name_;
  const Generator& generator_;
};

class StreamSource : public Source {
 public:
  explicit StreamSource(const Node& node) : name_(arg<std::string>(node.args, "name")), stream_(stream_named(name_)) {}
  std::uint64_t size() const override { return static_cast<std::uint64_t>(stream_.rows); }
  Schema schema() const override { return stream_.schema; }
  void read(std::uint64_t index, Record& record) const override {
    put_row(row(index), stream_.schema, origin(index), record);
  }
  std::string origin(std::uint64_t index) const override { return fmt::format("[stream] {}: row {}", name_, index); }
  std::int64_t num_classes() const override { return 0; }

 private:
  std::vector<Tensor> row(std::uint64_t index) const {
    const std::lock_guard lock(mutex_);
    if (const auto found = kept_.find(index); found != kept_.end()) {
      std::vector<Tensor> row = std::move(found->second);
      kept_.erase(found);
      return row;
    }
    if (!next_row_ || index < next_) {
      next_row_ = stream_.open();
      next_ = 0;
      kept_.clear();
    }
    while (true) {
      std::vector<Tensor> row = next_row_();
      if (row.empty()) {
        next_row_ = nullptr;
        throw Error(
            fmt::format("{}: the stream ends after {} rows, {} are declared", origin(index), next_, stream_.rows));
      }
      if (next_++ == index) return row;
      kept_.emplace(next_ - 1, std::move(row));
      if (static_cast<std::int64_t>(kept_.size()) > stream_.window) kept_.erase(kept_.begin());
    }
  }

  std::string name_;
  const StreamGenerator& stream_;
  mutable std::mutex mutex_;
  mutable std::function<std::vector<Tensor>()> next_row_;
  mutable std::uint64_t next_ = 0;
  mutable std::map<std::uint64_t, std::vector<Tensor>> kept_;  // passed over, by index
};

}  // namespace

std::unique_ptr<Source> open_generator(const Node& node) {
  if (arg<bool>(node.args, "stream")) return std::make_unique<StreamSource>(node);
  return std::make_unique<GeneratorSource>(node);
}

}  // namespace ridgeline::data
