// ridgeline/format/text/json_rows.h
//
// Manifests of JSON lines, {"file":"a.jpg","label":3,"box":[1,2,3,4]}: one flat object a line, typed columns, lines
// readable in any order. (json_lines.h is for metrics: it appends, and reads a whole file of loosely typed lines.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ridgeline {

class JsonValue;

enum class JsonKind : std::uint8_t { integer, real, text, integers, reals, texts };
// "integer", "array of reals", ...
std::string_view name_of(JsonKind kind);

struct JsonColumn {
  std::string key;
  JsonKind kind = JsonKind::text;
  bool required = true;  // an absent or null key of another column reads as std::monostate
  friend bool operator==(const JsonColumn&, const JsonColumn&) = default;
};

using JsonCell = std::variant<std::monostate, std::int64_t, double, std::string, std::vector<std::int64_t>,
                              std::vector<double>, std::vector<std::string>>;

struct JsonRowsOptions {
  // Keys that are not columns are skipped, whatever they hold; otherwise they are an Error.
  bool allow_unknown_keys = false;
};

// Holds the file's text and where each line begins; blank lines are skipped. Opening looks for line ends only, rows are
// checked when read. Errors: "[json_rows] FILE: row 3, line 5: key 'label' is text, an integer is wanted". Immutable:
// any thread may read.
class JsonRowsFile {
 public:
  JsonRowsFile(const std::string& path, std::vector<JsonColumn> columns, const JsonRowsOptions& options = {});
  // The columns of the first row: whole numbers are integers, arrays take the kind that holds all their elements (reals
  // if empty). A key with an object, a boolean, null or a mixed array is an Error.
  static std::vector<JsonColumn> infer(const std::string& path);

  const std::string& path() const { return path_; }
  const std::vector<JsonColumn>& columns() const { return columns_; }
  std::size_t size() const { return rows_.size(); }
  // Row i, one cell a column, in the columns' order. A real may be written as a whole number, not the reverse.
  void read(std::size_t i, std::vector<JsonCell>& cells) const;
  std::vector<JsonCell> row(std::size_t i) const;
  // The line's text, without its end.
  std::string_view text(std::size_t i) const;
  // Where row i begins: its byte, and its line counted from 1 (found by a walk, for messages).
  std::uint64_t offset(std::size_t i) const { return rows_[i]; }
  std::size_t line(std::size_t i) const;

 private:
  JsonValue parse(std::size_t i) const;
  std::string place(std::size_t i) const;

  std::string path_;
  std::string all_;
  std::vector<JsonColumn> columns_;
  JsonRowsOptions options_;
  std::vector<std::uint64_t> rows_;
};

}  // namespace ridgeline
