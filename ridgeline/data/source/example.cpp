// tf.train.Examples with typed columns, by a schema file or as the first record shows them.
#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/data/source/example_columns.h"
#include "ridgeline/data/source/record_files.h"
#include "ridgeline/data/source/sources.h"

namespace ridgeline::data {
namespace {

using Files = SeveralFiles<TFRecordFile>;

std::string place_in(const Files& files, std::uint64_t index) {
  const auto place = files.at(index);
  return fmt::format("[example] {}: record {} at byte {}", place.file->path(), place.record,
                     place.file->offset(place.record));
}

ExampleSchema layout_of(const Node& node, const Files& files) {
  if (const std::string& file = arg<std::string>(node.args, "schema"); !file.empty()) return ExampleSchema::read(file);
  const auto first = files.at(0);
  std::string storage;
  const auto bytes = first.file->record(first.record, storage);
  try {
    return ExampleSchema::infer(Example(bytes));
  } catch (const Error& e) {
    throw Error(place_in(files, 0) + ": " + e.what(), e.kind());
  }
}

class ExampleSource : public Source {
 public:
  explicit ExampleSource(const Node& node)
      : ExampleSource(node, std::make_shared<const Files>(open_record_files(node))) {}
  ExampleSource(const Node& node, const std::shared_ptr<const Files>& files)
      : ExampleSource(node, files, layout_of(node, *files)) {}
  ExampleSource(const Node& node, std::shared_ptr<const Files> files, ExampleSchema layout)
      : files_(std::move(files)),
        schema_file_(arg<std::string>(node.args, "schema")),
        columns_(node, std::move(layout)),
        size_(files_->size()),
        num_classes_(arg<std::int64_t>(node.args, "num_classes")) {
    if (const auto rows = columns_.layout().rows()) size_ = std::min(size_, static_cast<std::uint64_t>(*rows));
  }

  std::uint64_t size() const override { return size_; }
  Schema schema() const override { return columns_.schema(); }
  void read(std::uint64_t index, Record& record) const override {
    const auto place = files_->at(index);
    columns_.read(place.file->record(place.record, record.storage), record);
  }
  std::string origin(std::uint64_t index) const override { return place_in(*files_, index); }
  std::unique_ptr<Source> choose(const Node& node) const override {
    return std::make_unique<ExampleSource>(node, files_, columns_.layout());
  }
  std::int64_t label_of(std::uint64_t index) const override {
    if (!columns_.has_label()) return Source::label_of(index);
    const auto place = files_->at(index);
    std::string storage;
    return columns_.label(place.file->record(place.record, storage));
  }
  std::int64_t num_classes() const override { return num_classes_; }
  std::uint64_t fingerprint() const override {
    std::vector<std::string> files = files_->paths();
    if (!schema_file_.empty()) files.push_back(schema_file_);
    return fingerprint_of(files);
  }

 private:
  std::shared_ptr<const Files> files_;
  std::string schema_file_;
  ExampleColumns columns_;
  std::uint64_t size_;
  std::int64_t num_classes_;
};

}  // namespace

std::unique_ptr<Source> open_example(const Node& node) { return std::make_unique<ExampleSource>(node); }

}  // namespace ridgeline::data
