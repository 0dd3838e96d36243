#include "ridgeline/data/source/example.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/data/source/arguments.h"
#include "ridgeline/data/source/example_columns.h"
#include "ridgeline/data/source/record_files.h"
#include "ridgeline/data/source/source_entry.h"

namespace ridgeline::data {

Dataset Examples(std::vector<std::string> files, ExamplesOptions options) {
  return source_dataset("example", with_record_files({{"files", std::move(files)},
                                                      {"schema", std::move(options.schema)},
                                                      {"columns", std::move(options.columns)},
                                                      {"label", std::move(options.label)},
                                                      {"label_base", options.label_base},
                                                      {"num_classes", options.num_classes}},
                                                     options.record_files));
}

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

bool schema_is_in_a_file(const Node& node) { return !arg<std::string>(node.args, "schema").empty(); }

std::optional<Schema> example_columns_of(const Node& node) {
  if (!schema_is_in_a_file(node)) return std::nullopt;
  return ExampleColumns(node, ExampleSchema::read(arg<std::string>(node.args, "schema"))).schema();
}

// Columns have their stored names in the arguments. Where the column label is not wanted, its arguments are removed,
// too.
void choose_example_columns(Node& node, Texts wanted) {
  if (const std::string& label = arg<std::string>(node.args, "label"); !label.empty()) {
    const auto found = std::find(wanted.begin(), wanted.end(), kLabelColumn);
    if (found != wanted.end()) {
      *found = label;
    } else {
      node.args.at("label") = std::string();
      for (const char* name : {"label_base", "num_classes"}) node.args.at(name) = std::int64_t{0};
    }
  }
  node.args.at("columns") = std::move(wanted);
}

void check_example(const Node& node) {
  check_record_files(node);
  if (arg<std::int64_t>(node.args, "file_shards") > 1 && arg<std::string>(node.args, "schema").empty())
    throw Error(
        "[example] without a schema the types are those of the first record, which only one part has: give one");
  check_label_base(node);
  const bool asks = arg<std::int64_t>(node.args, "label_base") != 0 || arg<std::int64_t>(node.args, "num_classes") != 0;
  if (asks && arg<std::string>(node.args, "label").empty())
    throw Error("[example] label_base and num_classes need label, the column that holds the class");
}

}  // namespace

SourceEntry example_source() {
  return {.op = "example",
          .doc = "tf.train.Examples with typed columns, in TFRecord files (plain, GZIP, ZLIB)",
          .args = record_file_args(
              {{.name = "schema",
                .type = ArgType::text,
                .doc = "JSON file with the type and shape of each column; empty: taken from the first record",
                .fallback = std::string(),
                .place = true},
               texts_arg("columns", "columns to read; empty: all"),
               text_arg("label", "column that holds the class, which becomes the column label (i32); empty: none", ""),
               count_arg("label_base", "number that is subtracted from stored labels"),
               num_classes_arg()}),
          .check = check_example,
          .open = open_as<ExampleSource>,
          .columns = example_columns_of,
          .columns_in_file = schema_is_in_a_file,
          .choose_columns = choose_example_columns};
}

}  // namespace ridgeline::data
