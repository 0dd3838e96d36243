#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "ridgeline/core/atomic_file.h"
#include "ridgeline/core/bytes.h"
#include "ridgeline/core/error.h"
#include "ridgeline/format/record/packed.h"
#include "ridgeline/format/record/packed_layout.h"
#include "ridgeline/format/text/json_value.h"
#include "ridgeline/format/wire/crc32c.h"

namespace ridgeline {

using packed_layout::Header;
using packed_layout::TableEntry;

namespace {

// The bytes of a row: the words, then the columns at their offsets. The caller puts the row's name before errors.
std::vector<std::uint8_t> row_of(const PackedSchema& schema, std::span<const PackedValue> values) {
  if (values.size() != schema.columns.size()) {
    throw Error(" has " + std::to_string(values.size()) + " values, the schema has " +
                std::to_string(schema.columns.size()) + " columns");
  }
  std::vector<std::uint64_t> words;
  std::uint64_t size = packed_layout::row_words(schema) * sizeof(std::uint64_t);
  for (std::size_t c = 0; c < values.size(); ++c) {
    const PackedColumn& column = schema.columns[c];
    const PackedValue& value = values[c];
    const auto fail = [&](const std::string& problem) { throw Error(", column '" + column.name + "': " + problem); };
    if (column.dtype == DType::bytes) {
      words.push_back(value.bytes.size());
    } else {
      const auto rank = static_cast<std::size_t>(column.extents.rank());
      if (value.extents.size() != rank && !(column.fixed() && value.extents.empty())) {
        fail(std::to_string(value.extents.size()) + " extents are given, the schema has " + column.extents.to_string());
      }
      std::uint64_t wanted = size_of(column.dtype);
      for (std::size_t axis = 0; axis < rank; ++axis) {
        const std::int64_t declared = column.extents[static_cast<int>(axis)];
        const std::int64_t extent = value.extents.empty() ? declared : value.extents[axis];
        if (extent < 0 || (declared >= 0 && extent != declared)) {
          fail("extent " + std::to_string(axis) + " is " + std::to_string(extent) + ", the schema has " +
               column.extents.to_string());
        }
        if (declared < 0) words.push_back(static_cast<std::uint64_t>(extent));
        // Compared before it is multiplied: extents from callers may be any numbers.
        if (extent > 0 && wanted > (std::uint64_t{1} << 62) / static_cast<std::uint64_t>(extent)) {
          fail("the product of its extents overflows");
        }
        wanted *= static_cast<std::uint64_t>(extent);
      }
      if (value.bytes.size() != wanted) {
        fail(std::to_string(value.bytes.size()) + " bytes are given, its extents and type make " +
             std::to_string(wanted));
      }
    }
    size = packed_layout::column_place(size, value.bytes.size(), size_of(column.dtype)) + value.bytes.size();
  }
  std::vector<std::uint8_t> row(static_cast<std::size_t>(size));
  std::uint64_t place = words.size() * sizeof(std::uint64_t);
  if (!words.empty()) std::memcpy(row.data(), words.data(), static_cast<std::size_t>(place));
  for (std::size_t c = 0; c < values.size(); ++c) {
    const auto bytes = values[c].bytes;
    place = packed_layout::column_place(place, bytes.size(), size_of(schema.columns[c].dtype));
    if (!bytes.empty()) std::memcpy(row.data() + place, bytes.data(), bytes.size());
    place += bytes.size();
  }
  return row;
}

}  // namespace

struct PackedWriter::State {
  State(const std::string& path, PackedSchema given, std::string_view metadata)
      : schema(std::move(given)), file(path), texts(packed_schema_text(schema)), schema_bytes(texts.size()) {
    texts += metadata;
    texts_bytes = texts.size();
    end = packed_layout::aligned(sizeof(Header) + texts_bytes);
    texts.resize(static_cast<std::size_t>(end) - sizeof(Header));
  }

  std::string where(std::size_t row) const { return "[packed] " + file.path() + ": row " + std::to_string(row); }
  std::size_t put(std::optional<std::size_t> wanted, std::span<const PackedValue> values);
  void check_complete(std::size_t rows, Missing missing) const;
  void finish(std::size_t rows, Missing missing);

  const PackedSchema schema;
  AtomicFile file;
  std::string texts;  // schema and metadata, with the zeros up to the first row
  std::size_t schema_bytes;
  std::size_t texts_bytes = 0;
  mutable std::mutex mutex;  // of what follows; rows are made and written without it
  std::vector<TableEntry> table;
  std::size_t added = 0;
  std::uint64_t end = 0;  // where the next row goes
  std::size_t write_errors = 0;
};

PackedWriter::PackedWriter(const std::string& path, PackedSchema schema, std::string_view metadata) {
  check_packed_schema(schema);
  if (!metadata.empty()) parse_json(metadata, "[packed] " + path + ": the metadata");
  state_ = std::make_unique<State>(path, std::move(schema), metadata);
}
PackedWriter::~PackedWriter() = default;
PackedWriter::PackedWriter(PackedWriter&&) noexcept = default;
PackedWriter& PackedWriter::operator=(PackedWriter&&) noexcept = default;

void PackedWriter::add(std::size_t index, std::span<const PackedValue> values) {
  RIDGELINE_CHECK(state_ != nullptr, "add() comes before finish()");
  state_->put(index, values);
}

std::size_t PackedWriter::add(std::span<const PackedValue> values) {
  RIDGELINE_CHECK(state_ != nullptr, "add() comes before finish()");
  return state_->put(std::nullopt, values);
}

std::size_t PackedWriter::size() const {
  RIDGELINE_CHECK(state_ != nullptr, "size() comes before finish()");
  const std::scoped_lock lock(state_->mutex);
  return state_->added;
}

void PackedWriter::finish(std::size_t rows, Missing missing) {
  RIDGELINE_CHECK(state_ != nullptr, "finish() is called once");
  state_->finish(rows, missing);
  state_.reset();
}

void PackedWriter::finish() {
  RIDGELINE_CHECK(state_ != nullptr, "finish() is called once");
  finish(state_->table.size());
}

std::size_t PackedWriter::State::put(std::optional<std::size_t> wanted, std::span<const PackedValue> values) {
  std::vector<std::uint8_t> row;
  try {
    row = row_of(schema, values);
  } catch (const Error& e) {
    throw Error((wanted ? where(*wanted) : "[packed] " + file.path() + ": the next row") + e.what());
  }
  TableEntry entry{.at = 0, .bytes = row.size(), .crc = crc32c(row)};
  std::size_t index = 0;
  {
    const std::scoped_lock lock(mutex);
    index = wanted.value_or(table.size());
    if (index < table.size() && table[index].at != 0) throw Error(where(index) + " was added before");
    if (index >= table.size()) table.resize(index + 1);
    entry.at = end;
    end = packed_layout::aligned(end + std::max<std::uint64_t>(row.size(), 1));
    table[index] = entry;
    ++added;
  }
  try {
    file.write_at(entry.at, row.data(), row.size());
  } catch (const Error&) {
    const std::scoped_lock lock(mutex);
    ++write_errors;
    throw;
  }
  return index;
}

void PackedWriter::State::check_complete(std::size_t rows, Missing missing) const {
  if (write_errors > 0) {
    throw Error("[packed] " + file.path() + ": " + std::to_string(write_errors) + " rows could not be written");
  }
  if (table.size() > rows) {
    throw Error(where(table.size() - 1) + " was added, but the file is to have " + std::to_string(rows) + " rows");
  }
  if (added == rows || missing == Missing::allowed) return;
  std::size_t first = 0;
  while (first < table.size() && table[first].at != 0) ++first;
  throw Error(where(first) + " was never added (" + std::to_string(rows - added) + " of " + std::to_string(rows) +
              " are missing)");
}

void PackedWriter::State::finish(std::size_t rows, Missing missing) {
  const std::scoped_lock lock(mutex);
  check_complete(rows, missing);
  table.resize(rows);
  Header header;
  std::copy(packed_layout::kMagic.begin(), packed_layout::kMagic.end(), header.magic.begin());
  header.version = packed_layout::kVersion;
  header.flags = added < rows ? packed_layout::kRowsMayMiss : 0;
  header.schema_bytes = schema_bytes;
  header.metadata_bytes = texts_bytes - schema_bytes;
  header.rows = rows;
  header.table_at = end;
  header.texts_crc = crc32c(as_bytes(std::string_view(texts).substr(0, texts_bytes)));
  const std::string_view entries(reinterpret_cast<const char*>(table.data()), rows * sizeof(TableEntry));
  header.table_crc = crc32c(as_bytes(entries));
  const std::string_view head(reinterpret_cast<const char*>(&header), sizeof(header));
  header.header_crc = crc32c(as_bytes(head.substr(0, packed_layout::kHeaderChecked)));
  file.write_at(sizeof(Header), texts.data(), texts.size());
  file.write_at(end, entries.data(), entries.size());
  file.write_at(0, &header, sizeof(header));
  file.commit();
}

}  // namespace ridgeline
