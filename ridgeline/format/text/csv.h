// ridgeline/format/text/csv.h
//
// CSV files after RFC 4180: fields in quotes may hold delimiters, line ends and doubled quotes; lines end with LF or
// CRLF. The file is read and walked once, so that every row can be read in any order.
//
// Beyond the RFC: a UTF-8 byte order mark at the start and empty lines are skipped. Refused, with line and byte: an
// embedded NUL, a quote inside an unquoted field or text behind a closing one, a carriage return alone, an unclosed
// quote, a row with another number of fields than there are columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline {

struct CsvOptions {
  char delimiter = ',';
  // The first row names the columns.
  bool header = true;
  // Names of the columns: needed without a header; with one they replace its names.
  std::vector<std::string> columns;
};

class CsvFile;

// One row's fields, unquoted. Belongs to one worker, which reuses it; fields point into the file's text or into the
// row, and are valid until the row is read again or the file object goes or moves.
class CsvRow {
 public:
  std::size_t size() const { return fields_.size(); }
  std::string_view text(std::size_t column) const;
  // Errors: "[csv] FILE: row 3, line 5, column 'label': 'cat' is no integer". Blanks around a number do not matter.
  std::int64_t i64(std::size_t column) const;
  float f32(std::size_t column) const;
  double f64(std::size_t column) const;

 private:
  friend class CsvFile;
  [[noreturn]] void fail(std::size_t column, const char* problem) const;
  struct Field {
    std::size_t begin;
    std::size_t size;
    bool unquoted;  // lies in unquoted_, not in the file's text
  };
  const CsvFile* file_ = nullptr;
  std::size_t row_ = 0;
  std::vector<Field> fields_;
  std::string unquoted_;
};

// Holds the file's text and where each row begins. Opening checks the whole file; errors "[csv] FILE: line 5 at byte
// 120: ...". Immutable: any thread may read.
class CsvFile {
 public:
  explicit CsvFile(const std::string& path, const CsvOptions& options = {});

  const std::string& path() const { return path_; }
  const std::vector<std::string>& columns() const { return columns_; }
  // The place of a column. An unknown name is an Error with the nearest one.
  std::size_t column(std::string_view name) const;
  // Rows, without the header.
  std::size_t size() const { return rows_.size(); }
  void read(std::size_t i, CsvRow& row) const;
  CsvRow row(std::size_t i) const;
  // Where row i begins: its byte, and its line counted from 1 (found by a walk, for messages).
  std::uint64_t offset(std::size_t i) const { return rows_[i]; }
  std::size_t line(std::size_t i) const { return line_at(rows_[i]); }

 private:
  friend class CsvRow;
  std::uint64_t scan(std::uint64_t at, CsvRow& row) const;
  void name_columns(const CsvRow& header, const CsvOptions& options);
  std::size_t line_at(std::uint64_t byte) const;
  [[noreturn]] void fail(std::uint64_t byte, const std::string& problem) const;

  std::string path_;
  std::string text_;
  char delimiter_;
  std::vector<std::string> columns_;
  std::vector<std::uint64_t> rows_;
};

}  // namespace ridgeline
