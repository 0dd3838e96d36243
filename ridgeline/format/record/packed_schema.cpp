#include "ridgeline/format/record/packed_schema.h"

#include <algorithm>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/core/utf8.h"
#include "ridgeline/format/text/json_value.h"

namespace ridgeline {
namespace {

// Far above any data set's; a product of extents then cannot overflow unnoticed.
constexpr std::int64_t kExtentLimit = std::int64_t{1} << 40;

const std::string& text_member(const JsonValue& object, std::string_view key, const std::string& where) {
  const JsonValue* value = object.find(key);
  if (value == nullptr || value->text() == nullptr) throw Error(where + " has no text '" + std::string(key) + "'");
  return *value->text();
}

PackedColumn parse_column(const JsonValue& value, const std::string& where) {
  PackedColumn column;
  column.name = text_member(value, "name", where);
  const std::string& type = text_member(value, "dtype", where);
  const auto dtype = parse_dtype(type);
  if (!dtype) throw Error(where + " '" + column.name + "' has the unknown dtype '" + type + "'");
  column.dtype = *dtype;
  std::vector<std::int64_t> extents;
  if (const JsonValue* list = value.find("extents")) {
    if (list->array() == nullptr) throw Error(where + " '" + column.name + "' has extents that are no array");
    for (const JsonValue& extent : *list->array()) {
      if (extent.integer() == nullptr) throw Error(where + " '" + column.name + "' has an extent that is no integer");
      extents.push_back(*extent.integer());
    }
  }
  column.extents = Shape(std::move(extents));
  return column;
}

// Names of folders are bytes, JSON is UTF-8: a name that is not UTF-8 is stored as {"bytes":[102,108,233]}.
JsonValue class_name_value(const std::string& name) {
  if (is_utf8(name)) return JsonValue(name);
  JsonValue::Array bytes;
  for (const char byte : name) bytes.emplace_back(std::int64_t{static_cast<unsigned char>(byte)});
  JsonValue::Object object{{"bytes", std::move(bytes)}};
  return JsonValue(std::move(object));
}

std::string parse_class_name(const JsonValue& value, const std::string& where) {
  if (value.text() != nullptr) return *value.text();
  const JsonValue* bytes = value.find("bytes");
  if (bytes == nullptr || bytes->array() == nullptr) throw Error(where + " a class name of the schema is no text");
  std::string name;
  for (const JsonValue& byte : *bytes->array()) {
    if (byte.integer() == nullptr || *byte.integer() < 0 || *byte.integer() > 255)
      throw Error(where + " a class name of the schema holds what is no byte");
    name += static_cast<char>(*byte.integer());
  }
  return name;
}

bool varies(std::int64_t extent) { return extent < 0; }

}  // namespace

bool PackedColumn::fixed() const {
  return dtype != DType::bytes && std::none_of(extents.begin(), extents.end(), varies);
}

std::size_t PackedSchema::column(std::string_view name) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == name) return i;
    names.push_back(columns[i].name);
  }
  std::string message = "[packed] no column '" + std::string(name) + "'";
  message += did_you_mean(name, names);
  message += " (the columns are:";
  for (const std::string& n : names) message += " " + n;
  throw Error(message + ")");
}

bool PackedSchema::fixed() const {
  return std::all_of(columns.begin(), columns.end(), [](const PackedColumn& c) { return c.fixed(); });
}

void check_packed_schema(const PackedSchema& schema) {
  if (schema.columns.empty()) throw Error("[packed] a schema needs at least one column");
  std::set<std::string> names;
  for (const PackedColumn& column : schema.columns) {
    const std::string where = "[packed] column '" + column.name + "'";
    if (column.name.empty()) throw Error("[packed] a column has no name");
    if (!names.insert(column.name).second) throw Error(where + " is there twice");
    if (column.dtype == DType::bytes && column.extents.rank() != 0) {
      throw Error(where + " holds bytes and has extents " + column.extents.to_string() +
                  "; bytes are one string a row, without extents");
    }
    std::int64_t bytes = static_cast<std::int64_t>(size_of(column.dtype));
    for (const std::int64_t extent : column.extents) {
      if (extent < -1) {
        throw Error(where + " has an extent of " + std::to_string(extent) + " (-1 or more; -1 differs by row)");
      }
      if (extent > kExtentLimit || (extent > 0 && bytes > kExtentLimit / extent)) {
        throw Error(where + " has extents " + column.extents.to_string() + ", more than a row can hold");
      }
      if (extent > 0) bytes *= extent;
    }
  }
}

std::string packed_schema_text(const PackedSchema& schema) {
  JsonValue::Array columns;
  for (const PackedColumn& column : schema.columns) {
    JsonValue::Object members{{"name", column.name}, {"dtype", std::string(name_of(column.dtype))}};
    if (column.dtype != DType::bytes) {
      members.push_back({"extents", JsonValue::Array(column.extents.begin(), column.extents.end())});
    }
    columns.emplace_back(std::move(members));
  }
  JsonValue::Object all{{"columns", std::move(columns)}};
  if (!schema.class_names.empty()) {
    JsonValue::Array names;
    for (const std::string& name : schema.class_names) names.push_back(class_name_value(name));
    all.push_back({"class_names", std::move(names)});
  }
  return to_json_text(JsonValue(std::move(all)));
}

PackedSchema parse_packed_schema(std::string_view text, const std::string& where) {
  const JsonValue value = parse_json(text, where + " the schema", {.max_depth = 8});
  PackedSchema schema;
  const JsonValue* columns = value.find("columns");
  if (columns == nullptr || columns->array() == nullptr) throw Error(where + " the schema has no array 'columns'");
  for (const JsonValue& column : *columns->array()) {
    schema.columns.push_back(parse_column(column, where + " a column of the schema"));
  }
  if (const JsonValue* names = value.find("class_names")) {
    if (names->array() == nullptr) throw Error(where + " the schema's 'class_names' is no array");
    for (const JsonValue& name : *names->array()) {
      schema.class_names.push_back(parse_class_name(name, where));
    }
  }
  try {
    check_packed_schema(schema);
  } catch (const Error& e) {
    throw Error(where + " the schema is damaged: " + e.what());
  }
  return schema;
}

}  // namespace ridgeline
