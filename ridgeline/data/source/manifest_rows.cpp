#include "ridgeline/data/source/manifest_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/data/source/arguments.h"
#include "ridgeline/data/source/source_entry.h"

namespace ridgeline::data {
namespace {

template <class T>
void append(std::vector<std::uint8_t>& out, T x) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&x);
  out.insert(out.end(), bytes, bytes + sizeof x);
}

void put(std::vector<std::uint8_t>& out, const ManifestColumn& column, double value) {
  if (column.dtype == DType::f64) return append(out, value);
  const auto narrow = static_cast<float>(value);
  if (std::isinf(narrow) && std::isfinite(value))
    throw Error(fmt::format("column '{}': {} does not fit f32", column.name, value));
  append(out, narrow);
}

void put(std::vector<std::uint8_t>& out, const ManifestColumn& column, std::int64_t value) {
  if (column.dtype == DType::i64) return append(out, value);
  if (value < INT32_MIN || value > INT32_MAX)
    throw Error(fmt::format("column '{}': {} does not fit i32", column.name, value));
  append(out, static_cast<std::int32_t>(value));
}

}  // namespace

std::vector<ManifestColumn> parse_manifest_columns(const std::string& op, const std::vector<std::string>& texts) {
  std::vector<ManifestColumn> columns;
  for (const std::string& text : texts) {
    const std::size_t colon = text.rfind(':');
    ManifestColumn column{.name = text.substr(0, colon)};
    std::string type = colon == std::string::npos ? "bytes" : text.substr(colon + 1);
    if (type.ends_with("[]")) {
      column.list = true;
      type.resize(type.size() - 2);
    }
    if (type == "class" && !column.list) {
      type = "i32";
      column.names_class = true;
    }
    const std::vector<std::string> known{"bytes", "i32", "i64", "f32", "f64"};
    if (column.name.empty() || std::find(known.begin(), known.end(), type) == known.end() ||
        (column.list && type == "bytes")) {
      throw Error(
          fmt::format("[{}] column '{}' is not NAME:TYPE with i32, i64, f32, f64, bytes, class, or the first four "
                      "with [] for lists",
                      op, text));
    }
    column.dtype = dtype_named(type);
    columns.push_back(std::move(column));
  }
  return columns;
}

Schema manifest_schema(const std::string& op, const std::vector<ManifestColumn>& columns, const std::string& image) {
  Schema schema;
  if (!image.empty()) {
    const auto found =
        std::find_if(columns.begin(), columns.end(), [&](const ManifestColumn& c) { return c.name == image; });
    if (found == columns.end() || found->dtype != DType::bytes)
      throw Error(fmt::format("[{}] image is '{}', which is no column of bytes", op, image));
    schema.push_back({kImageColumn, DType::bytes, Shape{}});
  }
  for (const ManifestColumn& column : columns) {
    if (column.name == kImageColumn && column.name == image) continue;
    if (find_column(schema, column.name))
      throw Error(fmt::format("[{}] there are two columns '{}' (the file named by '{}' becomes 'image')", op,
                              column.name, image));
    schema.push_back({column.name, column.dtype, column.list ? Shape{kVaries} : Shape{}});
  }
  return schema;
}

Manifest::Manifest(const Node& node, std::vector<ManifestColumn> columns)
    : columns_(std::move(columns)),
      schema_(manifest_schema(node.op, columns_, arg<std::string>(node.args, "image"))),
      root_(arg<std::string>(node.args, "root")),
      num_classes_(arg<std::int64_t>(node.args, "num_classes")),
      class_names_(arg<Texts>(node.args, "class_names")) {
  if (root_.empty()) root_ = std::filesystem::path(arg<std::string>(node.args, "file")).parent_path().string();
  const std::string& image = arg<std::string>(node.args, "image");  // empty: none, but a header may have empty names
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const ManifestColumn& column = columns_[i];
    if (!image.empty() && column.name == image) image_ = i;
    if (column.name == kLabelColumn && !column.list && (column.dtype == DType::i32 || column.dtype == DType::i64))
      label_ = i;
    if (!column.names_class) continue;
    if (class_ != kNone)
      throw Error(fmt::format("[{}] '{}' and '{}' both name classes: one column may", node.op, columns_[class_].name,
                              column.name));
    class_ = i;
  }
  if (!class_names_.empty() && class_ == kNone)
    throw Error(fmt::format("[{}] class_names needs a column of type class, such as label:class", node.op));
  for (std::size_t i = 0; i < class_names_.size(); ++i) {
    if (std::find(class_names_.begin(), class_names_.begin() + static_cast<std::ptrdiff_t>(i), class_names_[i]) !=
        class_names_.begin() + static_cast<std::ptrdiff_t>(i))
      throw Error(fmt::format("[{}] class_names has '{}' twice", node.op, class_names_[i]));
  }
  if (num_classes_ > 0 && label_ == kNone)
    throw Error(fmt::format("[{}] num_classes needs a column label:i32 (or i64) to check", node.op));
}

void Manifest::name_classes(std::vector<std::string> found) {
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  class_names_ = std::move(found);
}

std::int64_t Manifest::label_named(std::string_view name) const {
  const auto found = std::find(class_names_.begin(), class_names_.end(), name);
  if (found == class_names_.end()) {
    throw Error(fmt::format("column '{}': '{}' is no class{}", columns_[class_].name, name,
                            did_you_mean(std::string(name), class_names_)));
  }
  return found - class_names_.begin();
}

void Manifest::check_label(std::int64_t label) const {
  if (num_classes_ > 0 && (label < 0 || label >= num_classes_))
    throw Error(fmt::format("label {} is outside the {} classes", label, num_classes_));
}

std::string Manifest::image_path(std::string_view name) const { return (std::filesystem::path(root_) / name).string(); }

ManifestRow::ManifestRow(const Manifest& manifest, Record& record) : manifest_(manifest), record_(record) {
  record_.objects.clear();
  record_.cells.clear();
  record_.numbers.resize(manifest_.columns().size());
  for (auto& numbers : record_.numbers) numbers.clear();
  if (manifest_.image() != Manifest::kNone) record_.cells.push_back(bytes_cell(nullptr, 0));  // finish() fills it in
}

void ManifestRow::text(std::string_view value) {
  if (column().names_class) return whole(manifest_.label_named(value));
  const bool becomes_image = used_ == manifest_.image() && column().name == kImageColumn;
  std::vector<std::uint8_t>& kept = next();
  kept.assign(value.begin(), value.end());
  if (!becomes_image) record_.cells.push_back(bytes_cell(kept.data(), kept.size()));
}

void ManifestRow::whole(std::int64_t value) {
  if (used_ == manifest_.label()) manifest_.check_label(value);
  const ManifestColumn& of = column();
  std::vector<std::uint8_t>& kept = next();
  put(kept, of, value);
  record_.cells.push_back(dense_cell(kept.data(), of.dtype, {}));
}

void ManifestRow::real(double value) {
  const ManifestColumn& of = column();
  std::vector<std::uint8_t>& kept = next();
  put(kept, of, value);
  record_.cells.push_back(dense_cell(kept.data(), of.dtype, {}));
}

void ManifestRow::list(const std::vector<std::int64_t>& values) {
  const ManifestColumn& of = column();
  std::vector<std::uint8_t>& kept = next();
  for (const std::int64_t x : values) put(kept, of, x);
  record_.cells.push_back(dense_cell(kept.data(), of.dtype, {static_cast<std::int64_t>(values.size())}));
}

void ManifestRow::list(const std::vector<double>& values) {
  const ManifestColumn& of = column();
  std::vector<std::uint8_t>& kept = next();
  for (const double x : values) put(kept, of, x);
  record_.cells.push_back(dense_cell(kept.data(), of.dtype, {static_cast<std::int64_t>(values.size())}));
}

void ManifestRow::finish() {
  if (manifest_.image() == Manifest::kNone) return;
  const std::vector<std::uint8_t>& name = record_.numbers[manifest_.image()];
  read_file_into(manifest_.image_path({reinterpret_cast<const char*>(name.data()), name.size()}), record_.storage);
  record_.cells[0] = bytes_cell(record_.storage.data(), record_.storage.size());
}

std::vector<ArgSpec> manifest_args(const char* otherwise) {
  ArgSpec root = text_arg("root", "folder that image files are relative to; empty: the manifest's", "");
  root.place = true;
  return {
      place_arg("file", "the file"),
      texts_arg("columns", std::string("NAME:TYPE, TYPE one of bytes, i32, i64, f32, f64 (and [] for lists), or "
                                       "class for texts that name one; empty: ") +
                               otherwise),
      text_arg("image", "column that names an image file, whose bytes become the column image; empty: none", ""),
      std::move(root),
      count_arg("num_classes", "number of classes; larger values of the column label are errors; 0: unknown"),
      newer(texts_arg("class_names",
                      "classes of a column NAME:class, in the order of their labels; empty: all that occur, sorted"))};
}

void check_manifest(const Node& node) {
  not_empty(node, "file");
  at_least(node, "num_classes", 0);
  std::vector<ManifestColumn> columns = parse_manifest_columns(node.op, arg<Texts>(node.args, "columns"));
  if (!columns.empty()) Manifest(node, std::move(columns));  // finds what contradicts itself
}

std::optional<SourceClasses> declared_classes(const Node& node) {
  const std::vector<ManifestColumn> columns = parse_manifest_columns(node.op, arg<Texts>(node.args, "columns"));
  if (std::none_of(columns.begin(), columns.end(), [](const ManifestColumn& c) { return c.names_class; }))
    return SourceClasses{.count = arg<std::int64_t>(node.args, "num_classes")};
  const Texts& names = arg<Texts>(node.args, "class_names");
  return names.empty() ? std::nullopt : std::optional(classes_in_order(names));
}

std::optional<Schema> declared_columns(const Node& node) {
  const Texts& columns = arg<Texts>(node.args, "columns");
  if (columns.empty()) return std::nullopt;
  return manifest_schema(node.op, parse_manifest_columns(node.op, columns), arg<std::string>(node.args, "image"));
}

}  // namespace ridgeline::data
