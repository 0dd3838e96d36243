// ridgeline/data/source/manifest_rows.h
//
// What CSV and JSON-lines manifests have in common: columns with a declared type, of which one may name an image file,
// whose bytes become the column "image".
#pragma once

#include <string>
#include <vector>

#include "ridgeline/data/source/source.h"

namespace ridgeline::data {

struct ManifestColumn {
  std::string name;
  DType dtype = DType::bytes;
  bool list = false;  // any number of values
};

// "label:i32", "box:f32[]", "file" (bytes). Errors name the op and the text.
std::vector<ManifestColumn> parse_manifest_columns(const std::string& op, const std::vector<std::string>& texts);

// The columns as a schema; where `image` names one, it comes first, as the bytes of that file.
Schema manifest_schema(const std::string& op, const std::vector<ManifestColumn>& columns, const std::string& image);

// Appends cells to a record whose values lie in its `numbers`.
class ManifestRow {
 public:
  explicit ManifestRow(Record& record, std::size_t columns);
  void text(std::string_view value);
  void number(double value, std::int64_t whole, DType dtype);
  template <class T>
  void list(const std::vector<T>& values, DType dtype);
  // The image file itself, first of the cells. A path that is not absolute lies below `root`.
  void image(const std::string& root, const std::string& path);

 private:
  std::vector<std::uint8_t>& next() { return record_.numbers[used_++]; }
  Record& record_;
  std::size_t used_ = 0;
};

}  // namespace ridgeline::data
