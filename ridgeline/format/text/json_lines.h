// ridgeline/format/text/json_lines.h
//
// Metrics as JSON lines: one flat object a line, appended and flushed, so that `tail -f`, and readers after a crash,
// see whole lines. NaN and infinities, which JSON lacks, are the strings "NaN", "Infinity" and "-Infinity".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ridgeline/format/wire/append_file.h"

namespace ridgeline {

using JsonScalar = std::variant<double, std::int64_t, std::string>;
using JsonField = std::pair<std::string, JsonScalar>;

// One thread. A line that a killed process left torn at the end of an existing file is cut off on opening.
class JsonLinesWriter {
 public:
  explicit JsonLinesWriter(const std::string& path);
  // Keys in the order given; doubles as the shortest text that reads back equal, always with a point or an exponent.
  void write(std::span<const JsonField> fields);
  void write(std::initializer_list<JsonField> fields) { write(std::span(fields.begin(), fields.size())); }

 private:
  AppendFile file_;
};

// Rewrites the file, atomically, without the lines for which `remove` is true, and returns their number. A line that
// cannot be read stays, and is not given to `remove`.
using JsonLineTest = std::function<bool(const std::map<std::string, JsonScalar>& line)>;
std::size_t remove_json_lines(const std::string& path, const JsonLineTest& remove);

// Every line as a map. Lines that are not flat objects of numbers, strings or booleans (read as 0 and 1) are an Error
// "[json_lines] FILE: line N ..."; a torn last line is skipped. The three strings above come back as doubles.
std::vector<std::map<std::string, JsonScalar>> read_json_lines(const std::string& path);

}  // namespace ridgeline
