#include "ridgeline/data/source/packed_cells.h"

namespace ridgeline::data {

std::vector<PackedColumn> packed_columns(const Schema& schema) {
  std::vector<PackedColumn> columns;
  for (const Column& column : schema)
    columns.push_back({column.name, column.dtype, column.dtype == DType::bytes ? Shape{} : column.shape});
  return columns;
}

std::vector<PackedValue> packed_values(std::span<const Cell> cells, std::vector<std::vector<std::uint8_t>>& dense) {
  std::vector<PackedValue> values;
  dense.resize(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    std::span<const std::uint8_t> bytes{cell.data, cell.bytes};
    if (cell.row_bytes != 0) {
      dense[i].resize(cell.bytes);
      copy_cell(cell, dense[i].data());
      bytes = dense[i];
    }
    values.push_back({bytes, {cell.dims.data(), static_cast<std::size_t>(cell.rank)}});
  }
  return values;
}

}  // namespace ridgeline::data
