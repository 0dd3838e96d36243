// ridgeline/format/record/packed_schema.h
//
// What a packed file (packed.h) says about its rows: named columns with a type and extents, and names of classes.
// Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/core/dtype.h"
#include "ridgeline/core/shape.h"

namespace ridgeline {

struct PackedColumn {
  std::string name;
  // DType::bytes: one string of bytes a row, of any length (an encoded image, a text).
  DType dtype = DType::bytes;
  // Of a row's tensor; an extent of -1 may differ from row to row. Empty for a scalar, and for DType::bytes.
  Shape extents;

  // All rows take the same number of bytes.
  bool fixed() const;
  friend bool operator==(const PackedColumn&, const PackedColumn&) = default;
};

struct PackedSchema {
  std::vector<PackedColumn> columns;
  std::vector<std::string> class_names;  // may be empty

  // The place of a column. An unknown name is an Error with the nearest one.
  std::size_t column(std::string_view name) const;
  // All rows take the same number of bytes.
  bool fixed() const;
  friend bool operator==(const PackedSchema&, const PackedSchema&) = default;
};

// A schema that no file can hold is an Error: no columns, equal or empty names, extents below -1 or with DType::bytes.
void check_packed_schema(const PackedSchema& schema);

// The JSON text in the file: {"columns":[{"name":"x","dtype":"f32","extents":[-1,4]}],"class_names":["a"]}. A class
// name that is not UTF-8 is written as {"bytes":[102,108,233]}.
std::string packed_schema_text(const PackedSchema& schema);
// Errors begin with `where`.
PackedSchema parse_packed_schema(std::string_view text, const std::string& where);

}  // namespace ridgeline
