// ridgeline/device/cpu/pool/max_pool.h
//
// Max pooling of some rows of an image, given only some of its rows and channels: for kernels that pool what they have
// just computed. Any thread may call; the instruction set must have been chosen (own_name).
#pragma once

#include <cstdint>

#include "ridgeline/core/dtype.h"
#include "ridgeline/device/cpu/pool/pool_geometry.h"

namespace ridgeline::device {

// The layout of x, y and index.
struct PoolRows {
  std::int64_t first_row = 0;  // the row of the image with which x begins
  std::int64_t channels = 0;
  std::int64_t x_pixel = 0;  // elements from one pixel of x to the next
  std::int64_t y_pixel = 0;  // of y and index
};

// Rows [begin, end) of the result of one image, which begins at y and index; x contains all rows that their windows
// see.
void max_pool_rows(const PoolGeometry& geometry, const PoolRows& rows, const float* x, float* y, std::uint8_t* index,
                   std::int64_t begin, std::int64_t end);
void max_pool_rows(const PoolGeometry& geometry, const PoolRows& rows, const bfloat16* x, bfloat16* y,
                   std::uint8_t* index, std::int64_t begin, std::int64_t end);

}  // namespace ridgeline::device
