#include "ridgeline/format/text/csv.h"

#include <algorithm>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/format/text/number_text.h"

namespace ridgeline {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// A field in a message: short, and without what would break the line.
std::string shown(std::string_view field) {
  std::string text(field.substr(0, 40));
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return "'" + text + (field.size() > 40 ? "...'" : "'");
}

// Bytes of the line end at `at`: 0 where there is none.
std::size_t line_end(std::string_view text, std::size_t at) {
  if (text[at] == '\n') return 1;
  return text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n' ? 2 : 0;
}

}  // namespace

std::string_view CsvRow::text(std::size_t column) const {
  RIDGELINE_CHECK(column < fields_.size(), "column number out of range");
  const Field& field = fields_[column];
  return (field.unquoted ? std::string_view(unquoted_) : std::string_view(file_->text_))
      .substr(field.begin, field.size);
}

std::int64_t CsvRow::i64(std::size_t column) const {
  if (const auto value = parse_i64(text(column))) return *value;
  fail(column, "no integer of 64 bits");
}

float CsvRow::f32(std::size_t column) const {
  if (const auto value = parse_f32(text(column))) return *value;
  fail(column, "no number that a float holds");
}

double CsvRow::f64(std::size_t column) const {
  if (const auto value = parse_f64(text(column))) return *value;
  fail(column, "no number that a double holds");
}

void CsvRow::fail(std::size_t column, const char* problem) const {
  throw Error("[csv] " + file_->path() + ": row " + std::to_string(row_) + ", line " +
              std::to_string(file_->line(row_)) + ", column '" + file_->columns_[column] + "': " + shown(text(column)) +
              " is " + problem);
}

CsvFile::CsvFile(const std::string& path, const CsvOptions& options)
    : path_(path), text_(read_file(path)), delimiter_(options.delimiter) {
  if (delimiter_ == '"' || delimiter_ == '\r' || delimiter_ == '\n' || delimiter_ == '\0') {
    throw Error("[csv] the delimiter must not be a quote, a line end or NUL", ErrorKind::usage);
  }
  if (!options.header && options.columns.empty()) {
    throw Error("[csv] " + path + ": without a header the columns must be named", ErrorKind::usage);
  }
  const std::string_view text = text_;
  std::size_t at = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  columns_ = options.columns;
  bool header = options.header;
  CsvRow row;
  row.file_ = this;
  while (at < text.size()) {
    if (const std::size_t end = line_end(text, at); end > 0) {
      at += end;
      continue;
    }
    const std::size_t begin = at;
    at = static_cast<std::size_t>(scan(at, row));
    if (header) {
      name_columns(row, options);
      header = false;
      continue;
    }
    if (row.size() != columns_.size()) {
      fail(begin, "row " + std::to_string(rows_.size()) + " has " + std::to_string(row.size()) + " fields, there are " +
                      std::to_string(columns_.size()) + " columns");
    }
    rows_.push_back(begin);
  }
  if (header) fail(at, "the file has no header");
  std::set<std::string> names;
  for (const std::string& name : columns_) {
    if (!names.insert(name).second) throw Error("[csv] " + path + ": two columns have the name '" + name + "'");
  }
}

void CsvFile::name_columns(const CsvRow& header, const CsvOptions& options) {
  if (options.columns.empty()) {
    for (std::size_t c = 0; c < header.size(); ++c) columns_.emplace_back(header.text(c));
  } else if (header.size() != options.columns.size()) {
    throw Error("[csv] " + path() + ": the header has " + std::to_string(header.size()) + " fields, " +
                std::to_string(options.columns.size()) + " names are given");
  }
}

// Reads the row that begins at `at`; returns where the next one begins.
std::uint64_t CsvFile::scan(std::uint64_t from, CsvRow& row) const {
  const std::string_view text = text_;
  row.fields_.clear();
  row.unquoted_.clear();
  auto at = static_cast<std::size_t>(from);
  while (true) {
    CsvRow::Field field{at, 0, false};
    if (at < text.size() && text[at] == '"') {
      const std::size_t opened = at++;
      field.begin = at;
      while (true) {
        // Quoted text extends to the next quote, whatever it holds.
        const std::size_t quote = std::min(text.find('"', at), text.size());
        const std::string_view part = text.substr(at, quote - at);
        if (const std::size_t nul = part.find('\0'); nul != std::string_view::npos) fail(at + nul, "embedded NUL");
        if (quote == text.size()) fail(opened, "a quote is opened here and never closed");
        const bool doubled = quote + 1 < text.size() && text[quote + 1] == '"';
        if (doubled && !field.unquoted) {
          const std::size_t begin = row.unquoted_.size();
          row.unquoted_ += text.substr(field.begin, quote - field.begin);
          field = {begin, 0, true};
        } else if (field.unquoted) {
          row.unquoted_ += part;
        }
        if (doubled) row.unquoted_ += '"';
        at = quote + 1 + (doubled ? 1 : 0);
        if (!doubled) {
          field.size = field.unquoted ? row.unquoted_.size() - field.begin : quote - field.begin;
          break;
        }
      }
    } else {
      while (at < text.size() && text[at] != delimiter_ && text[at] != '\n' && text[at] != '\r') {
        if (text[at] == '"') fail(at, "a quote inside an unquoted field (quote the field and double the quote)");
        if (text[at] == '\0') fail(at, "embedded NUL");
        ++at;
      }
      field.size = at - field.begin;
    }
    row.fields_.push_back(field);
    if (at == text.size()) return at;
    if (const std::size_t end = line_end(text, at); end > 0) return at + end;
    if (text[at] == '\r') fail(at, "a carriage return without a line feed");
    if (text[at] != delimiter_) fail(at, "text behind a closing quote");
    ++at;
  }
}

void CsvFile::read(std::size_t i, CsvRow& row) const {
  RIDGELINE_CHECK(i < rows_.size(), "row number out of range");
  row.file_ = this;
  row.row_ = i;
  scan(rows_[i], row);
}

CsvRow CsvFile::row(std::size_t i) const {
  CsvRow row;
  read(i, row);
  return row;
}

std::size_t CsvFile::column(std::string_view name) const {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found != columns_.end()) return static_cast<std::size_t>(found - columns_.begin());
  std::string message = "[csv] " + path() + ": no column '" + std::string(name) + "'";
  message += did_you_mean(name, columns_);
  message += " (the columns are:";
  for (const std::string& c : columns_) message += " " + c;
  throw Error(message + ")");
}

std::size_t CsvFile::line_at(std::uint64_t byte) const {
  const std::string_view text = std::string_view(text_).substr(0, static_cast<std::size_t>(byte));
  return 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void CsvFile::fail(std::uint64_t byte, const std::string& problem) const {
  throw Error("[csv] " + path() + ": line " + std::to_string(line_at(byte)) + " at byte " + std::to_string(byte) +
              ": " + problem);
}

}  // namespace ridgeline
