#include "ridgeline/data/sample/cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ridgeline/core/tensor.h"

namespace ridgeline::data {

Cell bytes_cell(const void* data, std::size_t bytes) {
  return {.data = static_cast<const std::uint8_t*>(data), .bytes = bytes, .dtype = DType::bytes};
}

Cell dense_cell(const void* data, DType dtype, const std::vector<std::int64_t>& dims) {
  if (dims.size() > Cell::kMaxRank)
    throw Error(fmt::format("a column of {} extents, at most {} are supported", dims.size(), Cell::kMaxRank));
  Cell cell{.data = static_cast<const std::uint8_t*>(data), .dtype = dtype, .rank = static_cast<int>(dims.size())};
  std::copy(dims.begin(), dims.end(), cell.dims.begin());
  cell.bytes = static_cast<std::size_t>(cell.elements()) * size_of(dtype);
  return cell;
}

Cell image_cell(const image::ImageView& view) {
  const std::ptrdiff_t width = static_cast<std::ptrdiff_t>(view.width) * view.channels;
  Cell cell{.data = view.data,
            .bytes = static_cast<std::size_t>(width) * static_cast<std::size_t>(view.height),
            .dtype = DType::u8,
            .rank = 3,
            .dims = {view.height, view.width, view.channels, 0}};
  if (view.stride != width) cell.row_bytes = view.stride;
  return cell;
}

image::ImageView view_of(const Cell& cell) {
  RIDGELINE_CHECK(cell.dtype == DType::u8 && cell.rank == 3, "a step gets no u8 image");
  const auto width = static_cast<std::ptrdiff_t>(cell.dims[1] * cell.dims[2]);
  return {cell.data, static_cast<int>(cell.dims[0]), static_cast<int>(cell.dims[1]), static_cast<int>(cell.dims[2]),
          cell.row_bytes ? cell.row_bytes : width};
}

void copy_cell(const Cell& cell, void* to) {
  if (cell.bytes == 0) return;
  if (cell.row_bytes == 0) {
    std::memcpy(to, cell.data, cell.bytes);
    return;
  }
  const std::size_t row = cell.bytes / static_cast<std::size_t>(cell.dims[0]);
  for (std::int64_t y = 0; y < cell.dims[0]; ++y) {
    std::memcpy(static_cast<std::uint8_t*>(to) + static_cast<std::size_t>(y) * row, cell.data + y * cell.row_bytes,
                row);
  }
}

Tensor to_tensor(const Cell& cell) {
  if (cell.dtype == DType::bytes)
    return Tensor::strings({std::string(reinterpret_cast<const char*>(cell.data), cell.bytes)});
  Tensor tensor(cell.dtype, Shape(std::vector<std::int64_t>(cell.dims.begin(), cell.dims.begin() + cell.rank)));
  copy_cell(cell, tensor.raw());
  return tensor;
}

}  // namespace ridgeline::data
