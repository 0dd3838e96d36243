#include "ridgeline/data/source/csv.h"

#include <fmt/format.h>

#include "ridgeline/data/source/arguments.h"
#include "ridgeline/data/source/manifest_rows.h"
#include "ridgeline/data/source/source_entry.h"
#include "ridgeline/format/text/csv.h"

namespace ridgeline::data {

Dataset Csv(const std::string& file, CsvOptions options) {
  return source_dataset("csv", {{"file", file},
                                {"columns", std::move(options.manifest.columns)},
                                {"image", std::move(options.manifest.image)},
                                {"root", std::move(options.manifest.root)},
                                {"num_classes", options.manifest.num_classes},
                                {"class_names", std::move(options.manifest.class_names)},
                                {"delimiter", std::string(1, options.delimiter)},
                                {"header", options.header}});
}

namespace {

ridgeline::CsvOptions options_of(const Node& node, const std::vector<ManifestColumn>& columns) {
  ridgeline::CsvOptions options{.delimiter = arg<std::string>(node.args, "delimiter")[0],
                                .header = arg<bool>(node.args, "header")};
  if (options.header) return options;
  for (const ManifestColumn& column : columns) options.columns.push_back(column.name);
  return options;
}

// All columns, as texts, where none are declared. A header's names are names, whatever they hold.
std::vector<ManifestColumn> or_all(std::vector<ManifestColumn> declared, const CsvFile& file) {
  if (declared.empty()) {
    for (const std::string& name : file.columns()) declared.push_back({.name = name});
  }
  return declared;
}

struct CsvWork : Record::Work {
  CsvRow row;
};

class CsvSource : public Source {
 public:
  explicit CsvSource(const Node& node)
      : CsvSource(node, parse_manifest_columns("csv", arg<Texts>(node.args, "columns"))) {}
  CsvSource(const Node& node, const std::vector<ManifestColumn>& declared)
      : file_(arg<std::string>(node.args, "file"), options_of(node, declared)),
        manifest_(node, or_all(declared, file_)) {
    for (const ManifestColumn& column : manifest_.columns()) places_.push_back(file_.column(column.name));
    if (!manifest_.wants_classes()) return;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < file_.size(); ++i) {
      std::string name(file_.row(i).text(places_[manifest_.class_column()]));
      if (names.empty() || names.back() != name) names.push_back(std::move(name));
    }
    manifest_.name_classes(std::move(names));
  }

  std::uint64_t size() const override { return file_.size(); }
  Schema schema() const override { return manifest_.schema(); }
  void read(std::uint64_t index, Record& record) const override {
    CsvRow& row = record.work_as<CsvWork>().row;
    file_.read(index, row);
    ManifestRow out(manifest_, record);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const ManifestColumn& column = manifest_.columns()[i];
      switch (column.names_class ? DType::bytes : column.dtype) {
        case DType::bytes: out.text(row.text(places_[i])); break;
        case DType::f32: out.real(row.f32(places_[i])); break;
        case DType::f64: out.real(row.f64(places_[i])); break;
        default: out.whole(row.i64(places_[i]));
      }
    }
    out.finish();
  }
  std::string origin(std::uint64_t index) const override {
    return fmt::format("[csv] {}: row {}, line {}", file_.path(), index, file_.line(index));
  }
  // Without the image.
  std::int64_t label_of(std::uint64_t index) const override {
    if (manifest_.label() == Manifest::kNone) return Source::label_of(index);
    const CsvRow row = file_.row(index);
    const std::size_t place = places_[manifest_.label()];
    const bool named = manifest_.label() == manifest_.class_column();
    const std::int64_t label = named ? manifest_.label_named(row.text(place)) : row.i64(place);
    manifest_.check_label(label);
    return label;
  }
  std::int64_t num_classes() const override { return manifest_.num_classes(); }
  std::vector<std::string> class_names() const override { return manifest_.class_names(); }
  std::uint64_t fingerprint() const override {
    std::vector<std::string> files{file_.path()};
    for (std::size_t i = 0; manifest_.image() != Manifest::kNone && i < file_.size(); ++i)
      files.push_back(manifest_.image_path(file_.row(i).text(places_[manifest_.image()])));
    return fingerprint_of(files);
  }

 private:
  CsvFile file_;
  Manifest manifest_;
  std::vector<std::size_t> places_;  // of the manifest's columns in the file
};

void check_csv(const Node& node) {
  const std::string& delimiter = arg<std::string>(node.args, "delimiter");
  if (delimiter.size() != 1) throw Error("[csv] delimiter must be one character");
  const Texts& columns = arg<Texts>(node.args, "columns");
  if (!arg<bool>(node.args, "header") && columns.empty()) throw Error("[csv] a file without a header needs columns");
  for (const ManifestColumn& column : parse_manifest_columns("csv", columns)) {
    if (column.list) throw Error(fmt::format("[csv] column '{}': a field holds one value, no list", column.name));
  }
  check_manifest(node);
}

}  // namespace

SourceEntry csv_source() {
  return {.op = "csv",
          .doc = "rows of a CSV file (RFC 4180)",
          .args =
              [] {
                std::vector<ArgSpec> args = manifest_args("all, as bytes");
                args.push_back(text_arg("delimiter", "separator of fields", ","));
                args.push_back(flag_arg("header", "whether the first row has the names of the columns", true));
                return args;
              }(),
          .check = check_csv,
          .open = open_as<CsvSource>,
          .columns = declared_columns,
          .classes = declared_classes};
}

}  // namespace ridgeline::data
