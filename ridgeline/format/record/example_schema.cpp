#include "ridgeline/format/record/example_schema.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

struct TypeRow {
  std::string_view name;
  DType stored;
  std::int64_t low;  // of integers
  std::int64_t high;
};

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
// In the order of ExampleType.
constexpr std::array<TypeRow, 13> kTypes{{{"int8", DType::i32, -128, 127},
                                          {"int16", DType::i32, -32768, 32767},
                                          {"int32", DType::i32, -2147483648, 2147483647},
                                          {"int64", DType::i64, kLowest, kHighest},
                                          {"uint8", DType::u8, 0, 255},
                                          {"uint16", DType::i32, 0, 65535},
                                          {"uint32", DType::i64, 0, 4294967295},
                                          {"uint64", DType::i64, 0, kHighest},
                                          {"float16", DType::f16, 0, 0},
                                          {"float32", DType::f32, 0, 0},
                                          {"float64", DType::f64, 0, 0},
                                          {"bool", DType::boolean, 0, 1},
                                          {"string", DType::bytes, 0, 0}}};

const TypeRow& row_of(ExampleType type) { return kTypes[static_cast<std::size_t>(type)]; }

[[noreturn]] void fail(const ExampleColumn& column, const std::string& problem) {
  throw Error("[example] column '" + column.key + "': " + problem);
}

// The column's shape for a number of values: -1 becomes what they make.
Shape filled_shape(const ExampleColumn& column, std::int64_t values) {
  std::int64_t known = 1;
  int open = -1;
  for (int axis = 0; axis < column.shape.rank(); ++axis) {
    if (column.shape[axis] < 0) {
      open = axis;
    } else {
      known *= column.shape[axis];
    }
  }
  Shape shape = column.shape;
  const bool fits = open < 0 ? values == known : known > 0 ? values % known == 0 : values == 0;
  if (!fits) {
    fail(column, std::to_string(values) + (values == 1 ? " value does" : " values do") + " not fill the shape " +
                     column.shape.to_string());
  }
  if (open >= 0) shape[open] = known > 0 ? values / known : 0;
  return shape;
}

Tensor from_integers(const ExampleColumn& column, const std::vector<std::int64_t>& values) {
  const TypeRow& type = row_of(column.type);
  Tensor tensor(type.stored, filled_shape(column, static_cast<std::int64_t>(values.size())));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t value = values[i];
    if (value < type.low || value > type.high) {
      fail(column, "value " + std::to_string(i) + " is " + std::to_string(value) + ", outside of " +
                       std::string(type.name) + " (" + std::to_string(type.low) + " to " + std::to_string(type.high) +
                       ")");
    }
    switch (type.stored) {
      case DType::i64: tensor.data<std::int64_t>()[i] = value; break;
      case DType::i32: tensor.data<std::int32_t>()[i] = static_cast<std::int32_t>(value); break;
      case DType::u8: tensor.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(value); break;
      default: tensor.data<bool>()[i] = value != 0;
    }
  }
  return tensor;
}

Tensor from_floats(const ExampleColumn& column, const std::vector<float>& values) {
  Tensor tensor(row_of(column.type).stored, filled_shape(column, static_cast<std::int64_t>(values.size())));
  for (std::size_t i = 0; i < values.size(); ++i) {
    switch (tensor.dtype()) {
      case DType::f64: tensor.data<double>()[i] = values[i]; break;
      case DType::f32: tensor.data<float>()[i] = values[i]; break;
      default: tensor.data<float16>()[i] = to_float16(values[i]);
    }
  }
  return tensor;
}

// The bytes of each string, one after the other, each padded with blanks to one width.
Tensor from_bytes(const ExampleColumn& column, const std::vector<std::string_view>& values) {
  std::size_t width = 0;
  for (const std::string_view value : values) width = std::max(width, value.size());
  if (column.shape.rank() >= 2 && column.shape[0] < 0) {
    const std::size_t longest = width;
    width = 1;
    for (int axis = 1; axis < column.shape.rank(); ++axis) width *= static_cast<std::size_t>(column.shape[axis]);
    if (longest > width) {
      fail(column, "a string of " + std::to_string(longest) + " bytes is longer than a row of the shape " +
                       column.shape.to_string());
    }
  }
  Tensor tensor(DType::u8, filled_shape(column, static_cast<std::int64_t>(width * values.size())));
  auto* to = tensor.data<std::uint8_t>();
  for (const std::string_view value : values) {
    std::copy(value.begin(), value.end(), to);
    std::fill(to + value.size(), to + width, std::uint8_t{' '});
    to += width;
  }
  return tensor;
}

Tensor from_strings(const ExampleColumn& column, const std::vector<std::string_view>& values) {
  Tensor tensor(DType::bytes, filled_shape(column, static_cast<std::int64_t>(values.size())));
  std::copy(values.begin(), values.end(), tensor.string_values().begin());
  return tensor;
}

bool is_integer(ExampleType type) { return type <= ExampleType::uint64 || type == ExampleType::boolean; }

[[noreturn]] void wrong_kind(const ExampleColumn& column, std::string_view kind) {
  fail(column, "the record holds " + std::string(kind) + ", which make no " + std::string(name_of(column.type)));
}

Tensor from_fallback(const ExampleColumn& column, const ExampleValues& values) {
  const bool open = std::any_of(column.shape.begin(), column.shape.end(), [](std::int64_t n) { return n < 0; });
  // A single number or text is used for all.
  const auto spread = [&](auto list) {
    if (list.size() == 1 && !open) list.resize(static_cast<std::size_t>(column.shape.elements()), list.front());
    return list;
  };
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&values)) {
    if (!is_integer(column.type)) wrong_kind(column, "int64s");
    return from_integers(column, spread(*integers));
  }
  if (const auto* floats = std::get_if<std::vector<float>>(&values)) {
    if (!is_floating(row_of(column.type).stored)) wrong_kind(column, "floats");
    return from_floats(column, spread(*floats));
  }
  const auto& texts = std::get<std::vector<std::string>>(values);
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  if (column.type == ExampleType::text) return from_strings(column, spread(views));
  if (column.type != ExampleType::uint8) wrong_kind(column, "bytes");
  return from_bytes(column, views);
}

ExampleType inferred_type(FeatureKind kind) {
  return kind == FeatureKind::bytes    ? ExampleType::text
         : kind == FeatureKind::floats ? ExampleType::float32
                                       : ExampleType::int64;
}

std::size_t count_of(const Example& example, const Example::Feature& feature) {
  switch (feature.kind) {
    case FeatureKind::bytes: return example.bytes(feature.key).size();
    case FeatureKind::floats: return example.floats(feature.key).size();
    default: return example.int64s(feature.key).size();
  }
}

}  // namespace

std::string_view name_of(ExampleType type) { return row_of(type).name; }
DType stored_dtype(ExampleType type) { return row_of(type).stored; }

ExampleSchema::ExampleSchema(std::vector<ExampleColumn> columns, std::optional<std::int64_t> rows)
    : columns_(std::move(columns)), rows_(rows) {
  std::set<std::string> keys;
  if (rows_ && *rows_ < 0) throw Error("[example] the schema wants " + std::to_string(*rows_) + " rows");
  for (const ExampleColumn& column : columns_) {
    if (!keys.insert(column.key).second) fail(column, "is there twice");
    const auto open = std::count_if(column.shape.begin(), column.shape.end(), [](std::int64_t n) { return n < 0; });
    std::int64_t elements = 1;
    for (const std::int64_t extent : column.shape) {
      if (extent < -1) fail(column, "has an extent of " + std::to_string(extent));
      if (extent > 0 && elements > (std::int64_t{1} << 31) / extent) fail(column, "has a shape of too many elements");
      if (extent > 0) elements *= extent;
    }
    if (open > 1) fail(column, "more than one extent of " + column.shape.to_string() + " is -1");
    if (column.fallback) from_fallback(column, *column.fallback);  // a default that does not fit is found here
  }
}

ExampleSchema ExampleSchema::infer(const Example& example) {
  std::vector<ExampleColumn> columns;
  for (const Example::Feature& feature : example.features()) {
    if (feature.kind == FeatureKind::none) continue;
    columns.push_back(
        {std::string(feature.key), inferred_type(feature.kind), count_of(example, feature) == 1 ? Shape{} : Shape{-1}});
  }
  return ExampleSchema(std::move(columns));
}

Tensor ExampleSchema::read(const Example& example, std::size_t index) const {
  RIDGELINE_CHECK(index < columns_.size(), "column number out of range");
  const ExampleColumn& column = columns_[index];
  const Example::Feature* feature = example.find(column.key);
  if (column.fallback && (feature == nullptr || feature->kind == FeatureKind::none))
    return from_fallback(column, *column.fallback);
  if (column.type == ExampleType::text) return from_strings(column, example.bytes(column.key));
  if (column.type == ExampleType::uint8 && (feature == nullptr || feature->kind != FeatureKind::int64s)) {
    return from_bytes(column, example.bytes(column.key));
  }
  if (is_integer(column.type)) return from_integers(column, example.int64s(column.key));
  return from_floats(column, example.floats(column.key));
}

std::vector<Tensor> ExampleSchema::read(const Example& example) const {
  std::vector<Tensor> tensors;
  tensors.reserve(columns_.size());
  for (std::size_t c = 0; c < columns_.size(); ++c) tensors.push_back(read(example, c));
  return tensors;
}

}  // namespace ridgeline
