// ridgeline/data/source/manifest_rows.h
//
// What CSV and JSON-lines manifests have in common: columns with a declared type, of which one may name an image file,
// whose bytes become the column "image", and one may be the class.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/source/source.h"

namespace ridgeline::data {

struct ManifestColumn {
  std::string name;
  DType dtype = DType::bytes;
  bool list = false;         // any number of values
  bool names_class = false;  // names of classes, which become labels of type dtype, i32
};

// "label:i32", "label:class", "box:f32[]", "file" (bytes); in "time:start:i64" the last colon counts. Errors name the
// op and the text.
std::vector<ManifestColumn> parse_manifest_columns(const std::string& op, const std::vector<std::string>& texts);

// The columns as a schema; if `image` names one, the bytes of its files come first as column image, which replaces a
// column of that name.
Schema manifest_schema(const std::string& op, const std::vector<ManifestColumn>& columns, const std::string& image);

// The arguments that manifests share, and their check. `otherwise`: for the help, which columns there are if none are
// declared.
std::vector<ArgSpec> manifest_args(const char* otherwise);
void check_manifest(const Node& node);
// The columns, if they are declared.
std::optional<Schema> declared_columns(const Node& node);
// The classes, if the arguments tell them; nullopt if the file has the names.
std::optional<SourceClasses> declared_classes(const Node& node);

// The arguments root, image and num_classes of a manifest's node, applied to its columns. Immutable.
class Manifest {
 public:
  // With num_classes there must be a column label of one integer; that and what manifest_schema refuses are Errors.
  Manifest(const Node& node, std::vector<ManifestColumn> columns);

  const std::vector<ManifestColumn>& columns() const { return columns_; }
  const Schema& schema() const { return schema_; }
  std::int64_t num_classes() const {
    return num_classes_ > 0 ? num_classes_ : static_cast<std::int64_t>(class_names_.size());
  }
  // The index in columns() of the one that names classes, and whether the names are still to be found in the file.
  std::size_t class_column() const { return class_; }
  bool wants_classes() const { return class_ != kNone && class_names_.empty(); }
  // `found` may be unsorted and have repetitions.
  void name_classes(std::vector<std::string> found);
  const std::vector<std::string>& class_names() const { return class_names_; }
  // The label of a class; an Error for an unknown name.
  std::int64_t label_named(std::string_view name) const;
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  // Indices in columns(); kNone if there is none.
  std::size_t label() const { return label_; }
  std::size_t image() const { return image_; }
  // Labels outside num_classes are Errors.
  void check_label(std::int64_t label) const;
  // Below the root unless the name is absolute.
  std::string image_path(std::string_view name) const;

 private:
  std::vector<ManifestColumn> columns_;
  Schema schema_;
  std::string root_;
  std::size_t image_ = kNone, label_ = kNone, class_ = kNone;
  std::int64_t num_classes_ = 0;
  std::vector<std::string> class_names_;
};

// Fills a record, column by column in the manifest's order; the values are stored in the record's `numbers`.
class ManifestRow {
 public:
  ManifestRow(const Manifest& manifest, Record& record);
  void text(std::string_view value);  // also of a column of class names
  void whole(std::int64_t value);
  void real(double value);
  void list(const std::vector<std::int64_t>& values);
  void list(const std::vector<double>& values);
  // After the last column: reads the image file.
  void finish();

 private:
  std::vector<std::uint8_t>& next() { return record_.numbers[used_++]; }
  const ManifestColumn& column() const { return manifest_.columns()[used_]; }

  const Manifest& manifest_;
  Record& record_;
  std::size_t used_ = 0;
};

}  // namespace ridgeline::data
