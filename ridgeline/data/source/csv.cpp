#include <fmt/format.h>

#include <filesystem>

#include "ridgeline/data/source/manifest_rows.h"
#include "ridgeline/data/source/sources.h"
#include "ridgeline/format/csv.h"

namespace ridgeline::data {
namespace {

std::string root_of(const Node& node) {
  const std::string& root = arg<std::string>(node.args, "root");
  return root.empty() ? std::filesystem::path(arg<std::string>(node.args, "file")).parent_path().string() : root;
}

CsvOptions options_of(const Node& node, const std::vector<ManifestColumn>& columns) {
  CsvOptions options{.delimiter = arg<std::string>(node.args, "delimiter")[0],
                     .header = arg<bool>(node.args, "header")};
  if (options.header) return options;
  for (const ManifestColumn& column : columns) options.columns.push_back(column.name);
  return options;
}

class CsvSource : public Source {
 public:
  explicit CsvSource(const Node& node)
      : columns_(parse_manifest_columns("csv", arg<Texts>(node.args, "columns"))),
        file_(arg<std::string>(node.args, "file"), options_of(node, columns_)),
        image_(arg<std::string>(node.args, "image")),
        root_(root_of(node)) {
    if (columns_.empty()) columns_ = parse_manifest_columns("csv", file_.columns());  // all of them, as text
    for (const ManifestColumn& column : columns_) {
      if (column.list) throw Error(fmt::format("[csv] column '{}': a field holds one value, no list", column.name));
      places_.push_back(file_.column(column.name));
    }
    schema_ = manifest_schema("csv", columns_, image_);
  }

  std::uint64_t size() const override { return file_.size(); }
  Schema schema() const override { return schema_; }
  void read(std::uint64_t index, Record& record) const override {
    thread_local CsvRow row;
    file_.read(index, row);
    ManifestRow out(record, columns_.size());
    std::string image;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::size_t place = places_[i];
      if (columns_[i].dtype == DType::bytes) {
        out.text(row.text(place));
        if (columns_[i].name == image_) image = row.text(place);
      } else if (is_floating(columns_[i].dtype)) {
        out.number(row.f32(place), 0, columns_[i].dtype);
      } else {
        const std::int64_t whole = row.i64(place);
        out.number(static_cast<double>(whole), whole, columns_[i].dtype);
      }
    }
    if (!image_.empty()) out.image(root_, image);
  }
  std::string origin(std::uint64_t index) const override {
    return fmt::format("[csv] {}: row {}, line {}", file_.path(), index, file_.line(index));
  }
  std::int64_t num_classes() const override { return 0; }
  std::uint64_t fingerprint() const override { return fingerprint_of({file_.path()}); }

 private:
  std::vector<ManifestColumn> columns_;
  CsvFile file_;
  std::string image_, root_;
  std::vector<std::size_t> places_;
  Schema schema_;
};

}  // namespace

std::unique_ptr<Source> open_csv(const Node& node) { return std::make_unique<CsvSource>(node); }

}  // namespace ridgeline::data
