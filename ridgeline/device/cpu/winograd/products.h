// ridgeline/device/cpu/winograd/products.h
//
// The matrix product of one position: c (+)= a b, where b is a panel of columns.
#pragma once

#include <array>
#include <cstdint>

namespace ridgeline::device::winograd {

// Lines of the caches, from `begin` on.
struct Lines {
  const float* begin = nullptr;
  std::int64_t count = 0;
};
inline Lines lines_of(const float* begin, std::int64_t floats) { return {begin, (floats + 15) / 16}; }

// c[i * c_row + j] (+)= sum over k of a[i * a_row + k * a_step] * b[k * panel_width() + j]
// for i in [0, rows), j in [0, columns rounded up to whole vectors), k in [0, depth). What lies behind the last column
// of b is read and of c is written. The depth is cut into steps of `depth_step`; the sum of each is added to c with one
// rounding. The order of each sum depends on depth and depth_step alone.
struct Product {
  std::int64_t rows;
  std::int64_t columns;  // at most panel_width()
  std::int64_t depth;
  std::int64_t depth_step;
  const float* a;
  std::int64_t a_row;
  std::int64_t a_step;
  const float* b;
  float* c;
  std::int64_t c_row;
  bool add;  // to what c holds
  // What the products that follow read and write, to be brought into the second cache meanwhile. The requests are
  // spread over the whole product: a core has few places for lines on their way, and its own reads need them, too.
  std::array<Lines, 3> ahead;
};

using Multiply = void (*)(const Product& product);

// For the vector target in force.
Multiply multiply();

}  // namespace ridgeline::device::winograd
