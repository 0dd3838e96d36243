// ridgeline/data/source/packed_cells.h
//
// Rows of cells in the format of packed files.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ridgeline/data/sample/cell.h"
#include "ridgeline/format/record/packed.h"

namespace ridgeline::data {

std::vector<PackedColumn> packed_columns(const Schema& schema);
// The same with their values, for PackedWriter::add. Images with gaps between rows are copied without them into
// `dense`, which must live as long as the values.
std::vector<PackedValue> packed_values(std::span<const Cell> cells, std::vector<std::vector<std::uint8_t>>& dense);

}  // namespace ridgeline::data
