#include "ridgeline/format/text/json_rows.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/format/text/json_value.h"

namespace ridgeline {
namespace {

constexpr std::array<std::string_view, 6> kNames{"integer",           "real",           "text",
                                                 "array of integers", "array of reals", "array of texts"};
constexpr std::string_view kBlanksInLine = " \t\r";

bool holds(const JsonValue& value, JsonKind kind) {
  const auto all = [&](JsonKind element) {
    const auto* array = value.array();
    return array != nullptr &&
           std::all_of(array->begin(), array->end(), [&](const JsonValue& v) { return holds(v, element); });
  };
  switch (kind) {
    case JsonKind::integer: return value.integer() != nullptr;
    case JsonKind::real: return value.integer() != nullptr || value.real() != nullptr;
    case JsonKind::text: return value.text() != nullptr;
    case JsonKind::integers: return all(JsonKind::integer);
    case JsonKind::reals: return all(JsonKind::real);
    case JsonKind::texts: return all(JsonKind::text);
  }
  return false;
}

double real_of(const JsonValue& value) {
  double number = 0;
  value.as_double(number);
  return number;
}

JsonCell cell_of(const JsonValue& value, JsonKind kind) {
  switch (kind) {
    case JsonKind::integer: return *value.integer();
    case JsonKind::real: return real_of(value);
    case JsonKind::text: return *value.text();
    case JsonKind::integers: {
      std::vector<std::int64_t> numbers;
      for (const JsonValue& element : *value.array()) numbers.push_back(*element.integer());
      return numbers;
    }
    case JsonKind::reals: {
      std::vector<double> numbers;
      for (const JsonValue& element : *value.array()) numbers.push_back(real_of(element));
      return numbers;
    }
    case JsonKind::texts: {
      std::vector<std::string> texts;
      for (const JsonValue& element : *value.array()) texts.push_back(*element.text());
      return texts;
    }
  }
  return {};
}

std::optional<JsonKind> kind_of(const JsonValue& value) {
  if (value.array() != nullptr && value.array()->empty()) return JsonKind::reals;
  for (const JsonKind kind :
       {JsonKind::integer, JsonKind::real, JsonKind::text, JsonKind::integers, JsonKind::reals, JsonKind::texts}) {
    if (holds(value, kind)) return kind;
  }
  return std::nullopt;
}

std::string article(std::string_view kind) {
  return (kind == "text" ? "" : kind.find_first_of("aeiou") == 0 ? "an " : "a ") + std::string(kind);
}

std::string unknown_key(const std::string& key, const std::vector<JsonColumn>& columns) {
  std::vector<std::string> keys;
  keys.reserve(columns.size());
  for (const JsonColumn& column : columns) keys.push_back(column.key);
  std::string message = "unknown key '" + key + "'";
  message += did_you_mean(key, keys);
  message += " (the columns are:";
  for (const std::string& k : keys) message += " " + k;
  return message + ")";
}

}  // namespace

std::string_view name_of(JsonKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

JsonRowsFile::JsonRowsFile(const std::string& path, std::vector<JsonColumn> columns, const JsonRowsOptions& options)
    : path_(path), all_(read_file(path)), columns_(std::move(columns)), options_(options) {
  std::set<std::string> keys;
  for (const JsonColumn& column : columns_) {
    if (!keys.insert(column.key).second) {
      throw Error("[json_rows] " + path + ": the column '" + column.key + "' is wanted twice", ErrorKind::usage);
    }
  }
  const std::string_view all = all_;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    if (all.substr(at, end - at).find_first_not_of(kBlanksInLine) != std::string_view::npos) rows_.push_back(at);
    at = end + 1;
  }
}

std::vector<JsonColumn> JsonRowsFile::infer(const std::string& path) {
  const JsonRowsFile file(path, {}, {.allow_unknown_keys = true});
  if (file.size() == 0) throw Error("[json_rows] " + path + ": the file has no rows");
  const JsonValue first = file.parse(0);
  std::vector<JsonColumn> columns;
  for (const JsonMember& member : *first.object()) {
    const auto kind = kind_of(member.value);
    if (!kind) {
      throw Error(file.place(0) + "key '" + member.key + "' holds " + article(member.value.kind()) +
                  " that is no column's value (number, text, or an array of one of them)");
    }
    columns.push_back({member.key, *kind});
  }
  return columns;
}

// The position is computed only for errors: finding a line's number walks the text.
JsonValue JsonRowsFile::parse(std::size_t i) const {
  JsonValue line;
  try {
    line = parse_json(text(i), "the line", {.first_byte = rows_[i]});
  } catch (const Error& e) {
    throw Error(place(i) + e.what());
  }
  if (line.object() == nullptr) throw Error(place(i) + "the line is no object");
  return line;
}

void JsonRowsFile::read(std::size_t i, std::vector<JsonCell>& cells) const {
  RIDGELINE_CHECK(i < rows_.size(), "row number out of range");
  const JsonValue line = parse(i);
  cells.resize(columns_.size());
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const JsonColumn& column = columns_[c];
    const JsonValue* value = line.find(column.key);
    if (value == nullptr || (value->is_null() && !column.required)) {
      if (column.required) throw Error(place(i) + "key '" + column.key + "' is missing");
      cells[c] = std::monostate();
      continue;
    }
    if (!holds(*value, column.kind)) {
      throw Error(place(i) + "key '" + column.key + "' is " + article(value->kind()) + ", " +
                  article(name_of(column.kind)) + " is wanted");
    }
    cells[c] = cell_of(*value, column.kind);
  }
  if (options_.allow_unknown_keys) return;
  for (const JsonMember& member : *line.object()) {
    const auto same = [&](const JsonColumn& column) { return column.key == member.key; };
    if (std::none_of(columns_.begin(), columns_.end(), same)) throw Error(place(i) + unknown_key(member.key, columns_));
  }
}

std::vector<JsonCell> JsonRowsFile::row(std::size_t i) const {
  std::vector<JsonCell> cells;
  read(i, cells);
  return cells;
}

std::string_view JsonRowsFile::text(std::size_t i) const {
  RIDGELINE_CHECK(i < rows_.size(), "row number out of range");
  const std::string_view all = all_;
  const std::string_view rest = all.substr(static_cast<std::size_t>(rows_[i]));
  return rest.substr(0, rest.find('\n'));
}

std::size_t JsonRowsFile::line(std::size_t i) const {
  const std::string_view before = std::string_view(all_).substr(0, static_cast<std::size_t>(rows_[i]));
  return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

std::string JsonRowsFile::place(std::size_t i) const {
  return "[json_rows] " + path() + ": row " + std::to_string(i) + ", line " + std::to_string(line(i)) + ": ";
}

}  // namespace ridgeline
