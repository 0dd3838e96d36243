// ridgeline/data/source/packed_cells.h
//
// Rows of cells as a packed file holds them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ridgeline/data/sample/cell.h"
#include "ridgeline/format/record/packed.h"

namespace ridgeline::data {

std::vector<PackedColumn> packed_columns(const Schema& schema);
// The same with their values, for PackedWriter::add. Gaps between the rows of an image are left out in `dense`, which
// must live as long as the values.
std::vector<PackedValue> packed_values(std::span<const Cell> cells, std::vector<std::vector<std::uint8_t>>& dense);

}  // namespace ridgeline::data
