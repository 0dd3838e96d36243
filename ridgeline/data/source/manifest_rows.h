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
  bool names_class = false;  // texts that name a class, of which dtype, i32, is the label
};

// "label:i32", "label:class", "box:f32[]", "file" (bytes); in "time:start:i64" the last colon counts. Errors name the
// op and the text.
std::vector<ManifestColumn> parse_manifest_columns(const std::string& op, const std::vector<std::string>& texts);

// The columns as a schema; where `image` names one, it comes first, as the bytes of that file, in whose place a column
// of names called image stands no more.
Schema manifest_schema(const std::string& op, const std::vector<ManifestColumn>& columns, const std::string& image);

// The arguments that manifests share; `otherwise`: the columns where none are declared. And their check.
std::vector<ArgSpec> manifest_args(const char* otherwise);
void check_manifest(const Node& node);
// The columns where they are declared.
std::optional<Schema> declared_columns(const Node& node);
// What the arguments tell of the classes; nullopt where the names are those that the file has.
std::optional<SourceClasses> declared_classes(const Node& node);

// The arguments root, image and num_classes of a manifest's node, over its columns. Immutable.
class Manifest {
 public:
  // With num_classes there must be a column label of one integer; that and what manifest_schema refuses are Errors.
  Manifest(const Node& node, std::vector<ManifestColumn> columns);

  const std::vector<ManifestColumn>& columns() const { return columns_; }
  const Schema& schema() const { return schema_; }
  std::int64_t num_classes() const {
    return num_classes_ > 0 ? num_classes_ : static_cast<std::int64_t>(class_names_.size());
  }
  // The place in columns() of the one that names classes, and whether those are still to be found in the file.
  std::size_t class_column() const { return class_; }
  bool wants_classes() const { return class_ != kNone && class_names_.empty(); }
  // Any order, with repetitions: they are sorted.
  void name_classes(std::vector<std::string> found);
  const std::vector<std::string>& class_names() const { return class_names_; }
  // An Error for a name that is no class's.
  std::int64_t label_named(std::string_view name) const;
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  // Places in columns(); kNone where there is none.
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

// Fills a record, column by column in the manifest's order; the values lie in the record's `numbers`.
class ManifestRow {
 public:
  ManifestRow(const Manifest& manifest, Record& record);
  void text(std::string_view value);  // also of a column of class names
  void whole(std::int64_t value);
  void real(double value);
  void list(const std::vector<std::int64_t>& values);
  void list(const std::vector<double>& values);
  // Behind the last column: reads the image file.
  void finish();

 private:
  std::vector<std::uint8_t>& next() { return record_.numbers[used_++]; }
  const ManifestColumn& column() const { return manifest_.columns()[used_]; }

  const Manifest& manifest_;
  Record& record_;
  std::size_t used_ = 0;
};

}  // namespace ridgeline::data
