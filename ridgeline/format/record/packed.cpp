#include "ridgeline/format/record/packed.h"

#include <bit>
#include <cstring>

#include "ridgeline/core/error.h"
#include "ridgeline/core/lfs_pointer.h"
#include "ridgeline/format/wire/crc32c.h"

namespace ridgeline {

using packed_layout::Header;
using packed_layout::TableEntry;
static_assert(std::endian::native == std::endian::little, "packed files are read as they lie");

namespace {

std::string checksums(std::uint32_t stored, std::uint32_t computed) {
  return "has a wrong checksum (stored " + crc32c_text(stored) + ", computed " + crc32c_text(computed) + ")";
}

}  // namespace

PackedFile::PackedFile(const std::string& path, const PackedOptions& options)
    : file_(path), verify_rows_(options.verify_rows) {
  open();
  check_table();
}

void PackedFile::fail(const std::string& problem) const { throw Error("[packed] " + path() + ": " + problem); }

std::vector<std::uint8_t> PackedFile::piece(std::uint64_t at, std::uint64_t bytes) const {
  std::vector<std::uint8_t> piece(static_cast<std::size_t>(bytes));
  file_.read(at, piece);
  return piece;
}

void PackedFile::open() {
  const std::uint64_t size = file_.size();
  if (size < sizeof(Header)) {
    fail("the file is cut short: it has " + std::to_string(size) + " bytes, its header alone has " +
         std::to_string(sizeof(Header)));
  }
  const std::vector<std::uint8_t> start = piece(0, sizeof(Header));
  Header header;
  std::memcpy(&header, start.data(), sizeof(Header));
  const std::string_view magic(header.magic.data(), header.magic.size());
  if (magic != packed_layout::kMagic) {
    if (is_lfs_pointer(start)) fail(kLfsPointerText);
    if (magic.find_first_not_of('\0') == std::string_view::npos) fail("byte 0: the file was never finished");
    fail("byte 0: wrong magic; is this a packed file?");
  }
  if (header.version != packed_layout::kVersion) {
    fail("byte 8: version " + std::to_string(header.version) + ", this program reads version " +
         std::to_string(packed_layout::kVersion));
  }
  const std::uint32_t computed = crc32c(std::span(start).first(packed_layout::kHeaderChecked));
  if (computed != header.header_crc) fail("byte 60: the header " + checksums(header.header_crc, computed));
  if (header.flags > packed_layout::kRowsMayMiss || header.reserved != 0) fail("byte 12: unknown flags");

  // Each length is compared with the rest, so that no sum can overflow.
  const std::uint64_t texts = size - sizeof(Header);
  if (header.schema_bytes > texts || header.metadata_bytes > texts - header.schema_bytes) {
    fail("the file is cut short: schema and metadata have " + std::to_string(header.schema_bytes) + " and " +
         std::to_string(header.metadata_bytes) + " bytes, the file ends after " + std::to_string(texts));
  }
  rows_at_ = packed_layout::aligned(sizeof(Header) + header.schema_bytes + header.metadata_bytes);
  table_at_ = header.table_at;
  if (table_at_ > size || table_at_ < rows_at_ || table_at_ % packed_layout::kAlignment != 0) {
    fail("the file is cut short: its table of " + std::to_string(header.rows) + " rows begins at byte " +
         std::to_string(table_at_) + ", the file ends at " + std::to_string(size));
  }
  const std::uint64_t table = size - table_at_;
  if (header.rows > table / sizeof(TableEntry)) {
    fail("the file is cut short: its table has " + std::to_string(header.rows) + " rows, the file ends after " +
         std::to_string(table / sizeof(TableEntry)) + " of them");
  }
  if (header.rows * sizeof(TableEntry) != table) {
    fail("unexpected bytes after the table, at byte " + std::to_string(table_at_ + header.rows * sizeof(TableEntry)));
  }
  const std::vector<std::uint8_t> text = piece(sizeof(Header), header.schema_bytes + header.metadata_bytes);
  if (const std::uint32_t crc = crc32c(text); crc != header.texts_crc) {
    fail("byte 64: the schema " + checksums(header.texts_crc, crc));
  }
  const std::vector<std::uint8_t> entries = piece(table_at_, table);
  if (const std::uint32_t crc = crc32c(entries); crc != header.table_crc) {
    fail("byte " + std::to_string(table_at_) + ": the table " + checksums(header.table_crc, crc));
  }
  const std::string_view texts_view(reinterpret_cast<const char*>(text.data()), text.size());
  schema_ = parse_packed_schema(texts_view.substr(0, header.schema_bytes), "[packed] " + path() + ":");
  metadata_ = texts_view.substr(header.schema_bytes);
  table_.resize(static_cast<std::size_t>(header.rows));
  if (!table_.empty()) std::memcpy(table_.data(), entries.data(), entries.size());
  words_ = packed_layout::row_words(schema_);
  if ((header.flags & packed_layout::kRowsMayMiss) != 0) return;
  for (std::size_t i = 0; i < table_.size(); ++i) {
    if (!has(i)) fail("row " + std::to_string(i) + " is missing, though the header says that none is");
  }
}

void PackedFile::check_table() const {
  for (std::size_t i = 0; i < table_.size(); ++i) {
    const TableEntry& entry = table_[i];
    if (entry.at == 0) continue;
    if (entry.at % packed_layout::kAlignment != 0 || entry.at < rows_at_ || entry.at > table_at_ ||
        entry.bytes > table_at_ - entry.at || entry.bytes < words_ * sizeof(std::uint64_t)) {
      fail("row " + std::to_string(i) + " lies at byte " + std::to_string(entry.at) + " with " +
           std::to_string(entry.bytes) + " bytes; rows lie on multiples of 64 from " + std::to_string(rows_at_) +
           " to " + std::to_string(table_at_));
    }
  }
}

bool PackedFile::has(std::size_t i) const {
  RIDGELINE_CHECK(i < table_.size(), "row number out of range");
  return table_[i].at != 0;
}

std::string PackedFile::row_place(std::size_t i) const {
  return "row " + std::to_string(i) + " at byte " + std::to_string(offset(i)) + " ";
}

std::uint64_t PackedFile::offset(std::size_t i) const {
  if (!has(i)) fail("row " + std::to_string(i) + " was never written");
  return table_[i].at;
}

std::uint64_t PackedFile::length(std::size_t i) const {
  if (!has(i)) fail("row " + std::to_string(i) + " was never written");
  return table_[i].bytes;
}

void PackedFile::read(std::size_t i, PackedRow& row) const {
  const auto size = static_cast<std::size_t>(length(i));
  row.storage.resize(size + packed_layout::kAlignment - 1);
  const auto place = reinterpret_cast<std::uintptr_t>(row.storage.data());
  const std::span bytes(row.storage.data() + (packed_layout::aligned(place) - place), size);
  if (const std::size_t got = file_.read_some(offset(i), bytes); got < size)
    fail(row_place(i) + "cannot be read: " + file_.cut_short(offset(i), got));
  if (verify_rows_) {
    const std::uint32_t computed = crc32c(bytes);
    if (computed != table_[i].crc) fail(row_place(i) + checksums(table_[i].crc, computed));
  }
  find_fields(i, bytes, row.fields);
}

// Finds the columns within the row's bytes.
void PackedFile::find_fields(std::size_t i, std::span<const std::uint8_t> bytes,
                             std::vector<PackedField>& fields) const {
  fields.resize(schema_.columns.size());
  std::uint64_t place = words_ * sizeof(std::uint64_t);
  std::size_t word = 0;
  const auto next_word = [&] {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + sizeof value * word++, sizeof value);
    return value;
  };
  for (std::size_t c = 0; c < fields.size(); ++c) {
    const PackedColumn& column = schema_.columns[c];
    PackedField& field = fields[c];
    const std::uint64_t element = size_of(column.dtype);
    std::uint64_t wanted = element;
    const auto too_long = [&] {
      fail(row_place(i) + "has a column '" + column.name + "' that does not fit into its " +
           std::to_string(bytes.size()) + " bytes");
    };
    if (column.dtype == DType::bytes) {
      wanted = next_word();
    } else {
      if (field.extents.rank() != column.extents.rank()) field.extents = column.extents;
      // An extent of 0 makes the product 0, whatever the others are: these are bounded nevertheless.
      for (int axis = 0; axis < column.extents.rank(); ++axis) {
        const std::uint64_t extent =
            column.extents[axis] < 0 ? next_word() : static_cast<std::uint64_t>(column.extents[axis]);
        if (extent > (std::uint64_t{1} << 62) || (extent > 0 && wanted > (std::uint64_t{1} << 62) / extent)) too_long();
        field.extents[axis] = static_cast<std::int64_t>(extent);
        wanted *= extent;
      }
    }
    const std::uint64_t at = packed_layout::column_place(place, wanted, element);
    if (at > bytes.size() || wanted > bytes.size() - at) too_long();
    field.bytes = bytes.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(wanted));
    place = at + wanted;
  }
  if (place != bytes.size()) {
    fail(row_place(i) + "has " + std::to_string(bytes.size()) + " bytes, its columns take " + std::to_string(place));
  }
}

PackedRow PackedFile::row(std::size_t i) const {
  PackedRow row;
  read(i, row);
  return row;
}

}  // namespace ridgeline
