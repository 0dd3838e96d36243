// ridgeline/format/record/packed_layout.h
//
// The bytes of a packed file, as docs/format.md has them, for its reader and its writer. Little endian.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "ridgeline/format/record/packed_schema.h"

namespace ridgeline::packed_layout {

constexpr std::string_view kMagic = "RDGPACK\x01";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kRowsMayMiss = 1;  // in Header::flags
constexpr std::uint64_t kAlignment = 64;   // of rows, of the table, and of columns of 64 bytes and more

// At byte 0.
struct Header {
  std::array<char, 8> magic{};
  std::uint32_t version = 0;
  std::uint32_t flags = 0;
  std::uint64_t schema_bytes = 0;    // JSON text, from byte 64
  std::uint64_t metadata_bytes = 0;  // JSON text, after the schema
  std::uint64_t rows = 0;
  std::uint64_t table_at = 0;    // the table ends the file
  std::uint32_t texts_crc = 0;   // CRC-32C of schema and metadata
  std::uint32_t table_crc = 0;   // CRC-32C of the table
  std::uint32_t reserved = 0;    // 0
  std::uint32_t header_crc = 0;  // CRC-32C of the 60 bytes before
};
static_assert(sizeof(Header) == 64);
constexpr std::size_t kHeaderChecked = 60;

// One a row, in the order of the rows.
struct TableEntry {
  std::uint64_t at = 0;  // 0: the row is missing, and all other fields are 0
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;  // CRC-32C of the row
  std::uint32_t reserved = 0;
};
static_assert(sizeof(TableEntry) == 24);

constexpr std::uint64_t aligned(std::uint64_t place, std::uint64_t to = kAlignment) {
  return (place + to - 1) / to * to;
}

// Where a column of `bytes` bytes begins at the earliest, in a row of which `place` bytes are taken: large columns are
// aligned to 64 bytes, small ones to their element's size, so that both can be used in place.
constexpr std::uint64_t column_place(std::uint64_t place, std::uint64_t bytes, std::uint64_t element) {
  return aligned(place, bytes >= kAlignment ? kAlignment : (element == 0 ? 1 : element));
}

// Words at the start of each row: the length of every DType::bytes column, and every extent of -1, in the order of the
// columns.
inline std::size_t row_words(const PackedSchema& schema) {
  std::size_t words = 0;
  for (const PackedColumn& column : schema.columns) {
    if (column.dtype == DType::bytes) ++words;
    for (const std::int64_t extent : column.extents) words += extent < 0 ? 1 : 0;
  }
  return words;
}

}  // namespace ridgeline::packed_layout
