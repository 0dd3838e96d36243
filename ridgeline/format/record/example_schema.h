// ridgeline/format/record/example_schema.h
//
// Typed columns out of tf.train.Example: which keys, as what type and shape. From a JSON text as MindData's schema
// files are, {"datasetType":"TF","numRows":12,"columns":{"label":{"type":"int64","rank":1,"shape":[1]}}}, or from a
// record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ridgeline/core/tensor.h"
#include "ridgeline/format/record/example.h"

namespace ridgeline {

// As files declare them. A type that we do not have is range-checked and stored in the next wider one: int8, int16 and
// uint16 in i32, uint32 and uint64 (up to 2^63-1) in i64.
enum class ExampleType : std::uint8_t {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  float32,
  float64,
  boolean,
  text
};
// "int8", ..., "bool", "string".
std::string_view name_of(ExampleType type);
DType stored_dtype(ExampleType type);

// The values of a feature, of any kind.
using ExampleValues = std::variant<std::vector<std::string>, std::vector<float>, std::vector<std::int64_t>>;

struct ExampleColumn {
  std::string key;
  ExampleType type = ExampleType::int64;
  // At most one extent is -1: as many as the record's values make.
  Shape shape;
  // Used where the key is absent or its list was never set; without it that is an Error. One number fills a shape
  // without -1.
  std::optional<ExampleValues> fallback = {};
};

// Rules, as MindData has them: integers and bool come from int64 lists, floats from float lists, string from byte
// strings, uint8 from byte strings or int64 lists. Byte strings become uint8 side by side, each padded with blanks to
// the longest; in a shape [-1, a, b], to a*b bytes, and a longer one is an Error.
// Errors name the key: "[example] column 'label': 3 values do not fill the shape [2]". Immutable: any thread may read.
class ExampleSchema {
 public:
  explicit ExampleSchema(std::vector<ExampleColumn> columns, std::optional<std::int64_t> rows = std::nullopt);
  // Members of a column: "type", and "shape" or "rank" (0: one value, 1: any number of values; more needs a shape);
  // "default" (a number, a text, or an array of them) makes it optional. "t_impl" is skipped, others are Errors.
  static ExampleSchema parse(std::string_view json, const std::string& where);
  static ExampleSchema read(const std::string& path);
  // The columns of a record, in its order: int64, float32 or string; a list with one value is a scalar, others [-1].
  // Features whose list was never set tell no type and are left out.
  static ExampleSchema infer(const Example& example);

  const std::vector<ExampleColumn>& columns() const { return columns_; }
  // "numRows" of the file: how many records of a data set are read.
  std::optional<std::int64_t> rows() const { return rows_; }

  // One column of a record. A tensor of DType::bytes holds strings, and a shape of rank 0 one of them.
  Tensor read(const Example& example, std::size_t column) const;
  std::vector<Tensor> read(const Example& example) const;

 private:
  std::vector<ExampleColumn> columns_;
  std::optional<std::int64_t> rows_;
};

}  // namespace ridgeline
