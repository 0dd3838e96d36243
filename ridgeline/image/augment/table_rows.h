// ridgeline/image/augment/table_rows.h
//
// Looks values up in tables of 256, vectorised if the processor can permute bytes. `out` may be `in`. Private to this
// folder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ridgeline/image/image.h"

namespace ridgeline::image {

using ByteTable = std::array<std::uint8_t, 256>;

template <class Value>
ByteTable table_of(Value value) {
  ByteTable table;
  for (int v = 0; v < 256; ++v) table[static_cast<std::size_t>(v)] = static_cast<std::uint8_t>(value(v));
  return table;
}

// True if whole vectors are looked up at a time, which is faster than any arithmetic.
bool looks_up_vectors();

// out = table[in], whatever the channel; rows of `out` have no gaps.
void apply_table(const ImageView& in, const ByteTable& table, std::uint8_t* out);
// out = tables[channel][in].
void apply_tables(const ImageView& in, const std::array<ByteTable, 3>& tables, std::uint8_t* out);

}  // namespace ridgeline::image
