// ridgeline/data/sample/cell.h
//
// One column of one row in flight: borrowed memory with type and extents. A source points it at a record, steps point
// it at their output, and the batch copies the value unless it is already in its place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ridgeline/core/tensor.h"
#include "ridgeline/data/ir/column.h"
#include "ridgeline/image/image.h"

namespace ridgeline::data {

struct Cell {
  static constexpr int kMaxRank = 4;
  const std::uint8_t* data = nullptr;
  std::size_t bytes = 0;  // of all elements, without gaps
  DType dtype = DType::u8;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> dims{};
  std::ptrdiff_t row_bytes = 0;  // distance of the rows of an image with gaps between them; 0: none

  std::int64_t elements() const {
    std::int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= dims[static_cast<std::size_t>(i)];
    return n;
  }
  friend bool operator==(const Cell&, const Cell&) = default;
};

// A byte string.
Cell bytes_cell(const void* data, std::size_t bytes);
// Numbers without gaps. More than Cell::kMaxRank extents are an Error.
Cell dense_cell(const void* data, DType dtype, const std::vector<std::int64_t>& dims);
// u8 [height, width, channels], perhaps with gaps.
Cell image_cell(const image::ImageView& view);
// The same pixels as a view; the cell must be u8 with three extents.
image::ImageView view_of(const Cell& cell);

// Copies the elements without gaps.
void copy_cell(const Cell& cell, void* to);
// A copy; bytes become a column of one string.
Tensor to_tensor(const Cell& cell);

}  // namespace ridgeline::data
