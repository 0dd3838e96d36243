// tf.train.Examples with typed columns, by a schema file or as the first record shows them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "ridgeline/data/source/patterns.h"
#include "ridgeline/data/source/several_files.h"
#include "ridgeline/data/source/sources.h"
#include "ridgeline/format/example_schema.h"
#include "ridgeline/format/tfrecord.h"

namespace ridgeline::data {
namespace {

class ExampleSource : public Source {
 public:
  explicit ExampleSource(const Node& node) : layout_({}) {
    for (const std::string& path : expand_patterns("example", arg<Texts>(node.args, "files")))
      files_.add(TFRecordFile(path, ridgeline::TFRecordOptions{.index_cache_directory = index_directory(path)}));
    if (files_.size() == 0)
      throw Error(fmt::format("[example] no records in {}", fmt::join(arg<Texts>(node.args, "files"), ", ")));
    const std::string& file = arg<std::string>(node.args, "schema");
    layout_ = file.empty() ? inferred() : ExampleSchema::read(file);
    size_ = layout_.rows() ? std::min(files_.size(), static_cast<std::uint64_t>(*layout_.rows())) : files_.size();
    choose(arg<Texts>(node.args, "columns"));
  }

  std::uint64_t size() const override { return size_; }
  Schema schema() const override { return schema_; }
  void read(std::uint64_t index, Record& record) const override {
    const auto place = files_.at(index);
    record.objects.clear();
    record.cells.clear();
    record.numbers.resize(columns_.size());
    try {
      const Example example(place.file->record(place.record));
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        const Tensor value = layout_.read(example, columns_[i]);
        const bool text = value.dtype() == DType::bytes;
        const std::string* string = text ? value.string_values().data() : nullptr;
        const auto* data = text ? reinterpret_cast<const std::uint8_t*>(string->data())
                                : static_cast<const std::uint8_t*>(value.raw());
        std::vector<std::uint8_t>& kept = record.numbers[i];
        kept.assign(data, data + (text ? string->size() : value.byte_size()));
        record.cells.push_back(text ? bytes_cell(kept.data(), kept.size())
                                    : dense_cell(kept.data(), value.dtype(), value.shape().dims()));
      }
    } catch (const Error& e) {
      throw Error(origin(index) + ": " + e.what(), e.kind());
    }
  }
  std::string origin(std::uint64_t index) const override {
    const auto place = files_.at(index);
    return fmt::format("[example] {}: record {} at byte {}", place.file->path(), place.record,
                       place.file->offset(place.record));
  }
  std::int64_t num_classes() const override { return 0; }
  std::uint64_t fingerprint() const override { return fingerprint_of(files_.paths()); }

 private:
  ExampleSchema inferred() const {
    const auto first = files_.at(0);
    try {
      return ExampleSchema::infer(Example(first.file->record(first.record)));
    } catch (const Error& e) {
      throw Error(origin(0) + ": " + e.what(), e.kind());
    }
  }

  void choose(const Texts& names) {
    const std::vector<ExampleColumn>& all = layout_.columns();
    std::vector<std::string> keys;
    for (const ExampleColumn& column : all) keys.push_back(column.key);
    for (const std::string& name : names.empty() ? keys : names) {
      const auto found = std::find(keys.begin(), keys.end(), name);
      if (found == keys.end()) {
        const std::string nearest = nearest_name(name, keys);
        throw Error(fmt::format("[example] there is no column '{}'{} (columns: {})", name,
                                nearest.empty() ? "" : ": did you mean '" + nearest + "'?", fmt::join(keys, ", ")));
      }
      columns_.push_back(static_cast<std::size_t>(found - keys.begin()));
      const ExampleColumn& column = all[columns_.back()];
      const DType dtype = stored_dtype(column.type);
      if (dtype == DType::bytes && column.shape.rank() != 0)
        throw Error(
            fmt::format("[example] column '{}' is a list of byte strings: only single ones can be rows "
                        "(leave it out with columns)",
                        name));
      schema_.push_back({name, dtype, column.shape});
    }
  }

  SeveralFiles<TFRecordFile> files_;
  ExampleSchema layout_;
  std::vector<std::size_t> columns_;  // of the layout
  Schema schema_;
  std::uint64_t size_ = 0;
};

}  // namespace

std::unique_ptr<Source> open_example(const Node& node) { return std::make_unique<ExampleSource>(node); }

}  // namespace ridgeline::data
