#include "ridgeline/format/text/json_lines.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include <nlohmann/json.hpp>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/format/text/json_value.h"

namespace ridgeline {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kNan = "NaN";
constexpr std::string_view kInfinity = "Infinity";
constexpr std::string_view kMinusInfinity = "-Infinity";

// Invalid UTF-8 (a file name, say) becomes the replacement character: a log line must not stop a run.
std::string json_string(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string text_of(double value) {
  if (std::isnan(value)) return json_string(kNan);
  if (std::isinf(value)) return json_string(value > 0 ? kInfinity : kMinusInfinity);
  std::array<char, 32> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;  // the shortest that round-trips
  std::string text(buffer.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";  // stays a double for whoever reads it
  return text;
}

std::string text_of(const JsonScalar& value) {
  if (const auto* number = std::get_if<double>(&value)) return text_of(*number);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  return json_string(std::get<std::string>(value));
}

JsonScalar scalar_of(const JsonValue& value) {
  if (const bool* truth = value.boolean()) return std::int64_t{*truth};
  if (const std::int64_t* whole = value.integer()) return *whole;
  if (const double* number = value.real()) return *number;
  if (!value.text()) throw Error(" holds a value that is neither number nor string");
  const std::string& text = *value.text();
  if (text == kNan) return std::numeric_limits<double>::quiet_NaN();
  if (text == kInfinity) return std::numeric_limits<double>::infinity();
  if (text == kMinusInfinity) return -std::numeric_limits<double>::infinity();
  return text;
}

std::map<std::string, JsonScalar> parse_line(std::string_view line) {
  const JsonValue value = parse_json(line, "");
  if (!value.object()) throw Error(" is no JSON object");
  std::map<std::string, JsonScalar> fields;
  for (const auto& [key, member] : *value.object()) fields[key] = scalar_of(member);
  return fields;
}

}  // namespace

JsonLinesWriter::JsonLinesWriter(const std::string& path) : file_(path) {
  if (file_.size() == 0) return;
  const std::string content = read_file(path);
  const std::size_t last = content.rfind('\n');
  const std::size_t whole = last == std::string::npos ? 0 : last + 1;
  if (whole < content.size()) file_.truncate(whole);
}

void JsonLinesWriter::write(std::span<const JsonField> fields) {
  std::string line = "{";
  for (const auto& [key, value] : fields) {
    if (line.size() > 1) line += ",";
    line += json_string(key) + ":" + text_of(value);
  }
  file_.append(line + "}\n");
}

std::size_t remove_json_lines(const std::string& path, const JsonLineTest& remove) {
  const std::string content = read_file(path);
  std::string kept;
  std::size_t removed = 0;
  std::size_t begin = 0;
  for (std::size_t end = content.find('\n'); end != std::string::npos; end = content.find('\n', begin)) {
    const std::string_view line = std::string_view(content).substr(begin, end - begin);
    std::optional<std::map<std::string, JsonScalar>> fields;
    try {
      fields = parse_line(line);
    } catch (const Error&) {  // not ours to judge
    }
    if (fields && remove(*fields)) {
      ++removed;
    } else {
      kept.append(line).append("\n");
    }
    begin = end + 1;
  }
  if (removed > 0) write_file_atomically(path, kept.append(content, begin));
  return removed;
}

std::vector<std::map<std::string, JsonScalar>> read_json_lines(const std::string& path) {
  const std::string content = read_file(path);
  std::vector<std::map<std::string, JsonScalar>> lines;
  std::size_t begin = 0;
  for (std::size_t end = content.find('\n'); end != std::string::npos; end = content.find('\n', begin)) {
    try {
      lines.push_back(parse_line(std::string_view(content).substr(begin, end - begin)));
    } catch (const Error& e) {
      throw Error("[json_lines] " + path + ": line " + std::to_string(lines.size() + 1) + e.what());
    }
    begin = end + 1;
  }
  return lines;
}

}  // namespace ridgeline
