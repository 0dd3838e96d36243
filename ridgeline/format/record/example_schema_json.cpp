// An ExampleSchema as JSON.
#include <algorithm>
#include <array>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/format/record/example_schema.h"
#include "ridgeline/format/text/json_value.h"

namespace ridgeline {
namespace {

constexpr int kTypeCount = static_cast<int>(ExampleType::text) + 1;

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  names.reserve(kTypeCount);
  for (int i = 0; i < kTypeCount; ++i) names.emplace_back(name_of(static_cast<ExampleType>(i)));
  return names;
}

void check_keys(const JsonValue& object, const std::vector<std::string>& allowed, const std::string& where) {
  for (const JsonMember& member : *object.object()) {
    if (std::find(allowed.begin(), allowed.end(), member.key) != allowed.end()) continue;
    throw Error(where + "unknown key '" + member.key + "'" + did_you_mean(member.key, allowed));
  }
}

ExampleType parse_type(const JsonValue& value, const std::string& where) {
  const std::vector<std::string> names = type_names();
  if (value.text() == nullptr) throw Error(where + "'type' is no text");
  const auto found = std::find(names.begin(), names.end(), *value.text());
  if (found != names.end()) return static_cast<ExampleType>(found - names.begin());
  std::string message = where + "unknown type '" + *value.text() + "' (allowed:";
  for (const std::string& name : names) message += " " + name;
  throw Error(message + ")");
}

Shape parse_shape(const JsonValue& column, const std::string& where) {
  const JsonValue* rank = column.find("rank");
  if (rank != nullptr && rank->integer() == nullptr) throw Error(where + "'rank' is no integer");
  if (const JsonValue* list = column.find("shape")) {
    if (list->array() == nullptr) throw Error(where + "'shape' is no array");
    std::vector<std::int64_t> extents;
    for (const JsonValue& extent : *list->array()) {
      if (extent.integer() == nullptr) throw Error(where + "'shape' holds something that is no integer");
      extents.push_back(*extent.integer());
    }
    // Schema files in use say rank 1 beside a shape of two extents; the shape takes precedence.
    return Shape(std::move(extents));
  }
  if (rank == nullptr) throw Error(where + "neither 'shape' nor 'rank' is there");
  if (*rank->integer() != 0 && *rank->integer() != 1) {
    throw Error(where + "a rank of " + std::to_string(*rank->integer()) + " needs a 'shape'");
  }
  return *rank->integer() == 0 ? Shape{} : Shape{-1};
}

ExampleValues parse_default(const JsonValue& value, ExampleType type, const std::string& where) {
  const JsonValue::Array one{value};
  const JsonValue::Array& list = value.array() != nullptr ? *value.array() : one;
  const auto wrong = [&](std::string_view wanted) {
    throw Error(where + "'default' holds something that is no " + std::string(wanted));
  };
  if (type == ExampleType::text || (type == ExampleType::uint8 && !list.empty() && list[0].text() != nullptr)) {
    std::vector<std::string> texts;
    for (const JsonValue& v : list) texts.push_back(v.text() != nullptr ? *v.text() : (wrong("text"), std::string()));
    return texts;
  }
  if (is_floating(stored_dtype(type))) {
    std::vector<float> numbers;
    for (const JsonValue& v : list) {
      double number = 0;
      if (!v.as_double(number)) wrong("number");
      numbers.push_back(static_cast<float>(number));
    }
    return numbers;
  }
  std::vector<std::int64_t> numbers;
  for (const JsonValue& v : list) {
    if (v.integer() == nullptr && v.boolean() == nullptr) wrong("integer");
    numbers.push_back(v.integer() != nullptr ? *v.integer() : std::int64_t{*v.boolean()});
  }
  return numbers;
}

}  // namespace

ExampleSchema ExampleSchema::parse(std::string_view json, const std::string& where) {
  const std::string prefix = "[example] " + where + ": ";
  const JsonValue root = parse_json(json, prefix + "the schema", {.max_depth = 8});
  if (root.object() == nullptr) throw Error(prefix + "the schema is no object");
  check_keys(root, {"datasetType", "numRows", "columns"}, prefix);
  if (const JsonValue* kind = root.find("datasetType"); kind != nullptr && (!kind->text() || *kind->text() != "TF")) {
    throw Error(prefix + "'datasetType' is not \"TF\"");
  }
  std::optional<std::int64_t> rows;
  if (const JsonValue* count = root.find("numRows")) {
    if (count->integer() == nullptr) throw Error(prefix + "'numRows' is no integer");
    rows = *count->integer();
  }
  const JsonValue* list = root.find("columns");
  if (list == nullptr || list->object() == nullptr) throw Error(prefix + "there is no object 'columns'");
  std::vector<ExampleColumn> columns;
  for (const JsonMember& member : *list->object()) {
    const std::string place = prefix + "column '" + member.key + "': ";
    if (member.value.object() == nullptr) throw Error(place + "is no object");
    check_keys(member.value, {"type", "rank", "shape", "t_impl", "default"}, place);
    const JsonValue* type = member.value.find("type");
    if (type == nullptr) throw Error(place + "'type' is missing");
    ExampleColumn column{member.key, parse_type(*type, place), parse_shape(member.value, place)};
    if (const JsonValue* value = member.value.find("default")) {
      column.fallback = parse_default(*value, column.type, place);
    }
    columns.push_back(std::move(column));
  }
  return ExampleSchema(std::move(columns), rows);
}

ExampleSchema ExampleSchema::read(const std::string& path) { return parse(read_file(path), path); }

}  // namespace ridgeline
