#include <fmt/format.h>

#include <filesystem>

#include "ridgeline/data/source/manifest_rows.h"
#include "ridgeline/data/source/sources.h"
#include "ridgeline/format/json_rows.h"

namespace ridgeline::data {
namespace {

std::vector<JsonColumn> json_columns(const std::string& file, const std::vector<ManifestColumn>& declared) {
  if (declared.empty()) return JsonRowsFile::infer(file);
  std::vector<JsonColumn> columns;
  for (const ManifestColumn& c : declared) {
    const JsonKind kind = c.dtype == DType::bytes ? JsonKind::text
                          : is_floating(c.dtype)  ? (c.list ? JsonKind::reals : JsonKind::real)
                                                  : (c.list ? JsonKind::integers : JsonKind::integer);
    columns.push_back({.key = c.name, .kind = kind});
  }
  return columns;
}

std::vector<ManifestColumn> manifest_columns(const std::vector<JsonColumn>& inferred) {
  std::vector<ManifestColumn> columns;
  for (const JsonColumn& c : inferred) {
    switch (c.kind) {
      case JsonKind::integer: columns.push_back({c.key, DType::i64, false}); break;
      case JsonKind::integers: columns.push_back({c.key, DType::i64, true}); break;
      case JsonKind::real: columns.push_back({c.key, DType::f32, false}); break;
      case JsonKind::reals: columns.push_back({c.key, DType::f32, true}); break;
      case JsonKind::text: columns.push_back({c.key, DType::bytes, false}); break;
      case JsonKind::texts: break;  // lists of texts are no column
    }
  }
  return columns;
}

class JsonLinesSource : public Source {
 public:
  explicit JsonLinesSource(const Node& node)
      : columns_(parse_manifest_columns("json_lines", arg<Texts>(node.args, "columns"))),
        file_(arg<std::string>(node.args, "file"), json_columns(arg<std::string>(node.args, "file"), columns_),
              {.allow_unknown_keys = true}),
        image_(arg<std::string>(node.args, "image")),
        root_(arg<std::string>(node.args, "root")) {
    if (root_.empty()) root_ = std::filesystem::path(file_.path()).parent_path().string();
    if (columns_.empty()) columns_ = manifest_columns(file_.columns());
    schema_ = manifest_schema("json_lines", columns_, image_);
  }

  std::uint64_t size() const override { return file_.size(); }
  Schema schema() const override { return schema_; }
  void read(std::uint64_t index, Record& record) const override {
    thread_local std::vector<JsonCell> cells;
    file_.read(index, cells);
    ManifestRow out(record, columns_.size());
    std::string image;
    std::size_t column = 0;
    for (const JsonCell& cell : cells) {
      if (std::holds_alternative<std::vector<std::string>>(cell)) continue;
      const ManifestColumn& wanted = columns_[column++];
      if (const auto* text = std::get_if<std::string>(&cell)) {
        out.text(*text);
        if (wanted.name == image_) image = *text;
      } else if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
        out.number(static_cast<double>(*whole), *whole, wanted.dtype);
      } else if (const auto* real = std::get_if<double>(&cell)) {
        out.number(*real, 0, wanted.dtype);
      } else if (const auto* wholes = std::get_if<std::vector<std::int64_t>>(&cell)) {
        out.list(*wholes, wanted.dtype);
      } else {
        out.list(std::get<std::vector<double>>(cell), wanted.dtype);
      }
    }
    if (!image_.empty()) out.image(root_, image);
  }
  std::string origin(std::uint64_t index) const override {
    return fmt::format("[json_lines] {}: row {}, line {}", file_.path(), index, file_.line(index));
  }
  std::int64_t num_classes() const override { return 0; }
  std::uint64_t fingerprint() const override { return fingerprint_of({file_.path()}); }

 private:
  std::vector<ManifestColumn> columns_;
  JsonRowsFile file_;
  std::string image_, root_;
  Schema schema_;
};

}  // namespace

std::unique_ptr<Source> open_json_lines(const Node& node) { return std::make_unique<JsonLinesSource>(node); }

}  // namespace ridgeline::data
