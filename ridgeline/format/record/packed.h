// ridgeline/format/record/packed.h
//
// Ridgeline's own file of rows: a schema of named columns, rows that are used as they are read (encoded images or raw
// tensors, aligned), a table of where each row is, checksums. The layout is in docs/format.md.
// It serves packed data sets and the data engine's cache, which writes rows in any order from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/core/random_access_file.h"
#include "ridgeline/core/shape.h"
#include "ridgeline/format/record/packed_layout.h"
#include "ridgeline/format/record/packed_schema.h"

namespace ridgeline {

struct PackedOptions {
  // Compare a row with its checksum whenever it is read. Header, schema and table are compared always.
  bool verify_rows = true;
};

// One column of one row. `bytes` points into the row.
struct PackedField {
  std::span<const std::uint8_t> bytes;
  Shape extents;  // empty for DType::bytes
};

// A row and its columns in the schema's order. Belongs to one worker, which reuses it; moving it keeps fields valid.
struct PackedRow {
  PackedRow() = default;
  PackedRow(PackedRow&&) = default;
  PackedRow& operator=(PackedRow&&) = default;
  std::size_t size() const { return fields.size(); }
  const PackedField& operator[](std::size_t column) const { return fields.at(column); }

  std::vector<PackedField> fields;
  std::vector<std::uint8_t> storage;  // where the fields' bytes lie, as aligned as in the file
};

// Owns the open file, its table and its texts. Opening checks header, schema, table and that every row lies inside the
// file. Errors name file, byte or row and reason: "[packed] FILE: row 12 at byte 4096 has a wrong checksum ...". A file
// that is cut short afterwards is an Error of the rows that are gone. Immutable: any thread may read.
class PackedFile {
 public:
  explicit PackedFile(const std::string& path, const PackedOptions& options = {});

  const std::string& path() const { return file_.path(); }
  std::size_t size() const { return table_.size(); }
  const PackedSchema& schema() const { return schema_; }
  // The writer's JSON text, byte for byte; "" if there was none. Valid as long as the file object.
  std::string_view metadata() const { return metadata_; }
  // Whether row i was written; false only in files that were finished with missing rows.
  bool has(std::size_t i) const;
  // Where row i is in the file, and its bytes, padding between columns included. A missing row is an Error.
  std::uint64_t offset(std::size_t i) const;
  std::uint64_t length(std::size_t i) const;

  // `row` is reused from call to call.
  void read(std::size_t i, PackedRow& row) const;
  PackedRow row(std::size_t i) const;

 private:
  void open();
  void check_table() const;
  [[noreturn]] void fail(const std::string& problem) const;
  std::string row_place(std::size_t i) const;
  std::vector<std::uint8_t> piece(std::uint64_t at, std::uint64_t bytes) const;
  void find_fields(std::size_t i, std::span<const std::uint8_t> bytes, std::vector<PackedField>& fields) const;

  RandomAccessFile file_;
  bool verify_rows_;
  std::uint64_t rows_at_ = 0;
  std::uint64_t table_at_ = 0;
  std::vector<packed_layout::TableEntry> table_;
  std::size_t words_ = 0;
  PackedSchema schema_;
  std::string metadata_;
};

// A column's value for the writer, borrowed for the call. `extents` are used where the schema has a -1; a column
// without one may leave them out.
struct PackedValue {
  std::span<const std::uint8_t> bytes;
  std::span<const std::int64_t> extents = {};
};

// Writes a file that appears under its name when finish() has returned; before that, and after an error or without
// finish(), an existing file keeps its content. add() may be called from any thread; finish() by one, last.
class PackedWriter {
 public:
  // `metadata` is a JSON text or empty. Class names are part of the schema.
  PackedWriter(const std::string& path, PackedSchema schema, std::string_view metadata = {});
  ~PackedWriter();
  PackedWriter(PackedWriter&&) noexcept;
  PackedWriter& operator=(PackedWriter&&) noexcept;

  // Row `index` in any order. A row that was added before, a wrong number of values or a wrong size is an Error that
  // names row and column; the writer is then as before. An error of the disk makes finish() fail, too.
  void add(std::size_t index, std::span<const PackedValue> values);
  // Adds the row after the last one so far; returns its index.
  std::size_t add(std::span<const PackedValue> values);
  // Rows added.
  std::size_t size() const;

  enum class Missing { error, allowed };
  // The file has `rows` rows; rows that were never added are an Error that names the first, or are marked. A row beyond
  // `rows` is an Error. Without `rows` there is one more than the highest index added.
  void finish(std::size_t rows, Missing missing = Missing::error);
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ridgeline
