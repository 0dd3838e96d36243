// ridgeline/device/cpu/dense/products.h
//
// The matrix product that the passes of dense layers in f32 are made of, and what brings their operands into the forms
// that it reads. The order of every sum depends on the depth alone, one lane an element: the same bits with vectors of
// any length. Any thread may call.
#pragma once

#include <cstdint>

namespace ridgeline::device::dense {

// Products of a sum that are made in a register and then added to what is there: a part of the rule of these kernels'
// bits. So much of a panel of 64 columns takes two thirds of a first cache of 48 KB.
constexpr std::int64_t kDepth = 128;
// Rows that are multiplied at a time.
constexpr std::int64_t kBlockRows = 6;

// Memory that products ask for while they multiply, so that it is in the second cache when it is needed: the lines of
// rows that lie anywhere.
struct Ahead {
  const float* const* row = nullptr;  // the rows that follow
  std::int64_t rows = 0;              // how many these are
  std::int64_t lines = 0;             // in each
  std::int64_t pace = 0;              // kWhole times the lines that are asked for in four steps of depth
  std::int64_t due = 0;               // likewise, of the steps that have been
  const float* at = nullptr;          // the line that is next
  std::int64_t left = 0;              // lines of the row in progress

  static constexpr std::int64_t kWhole = 256;

  // `count` rows of `floats`, asked for evenly by products of so many blocks of rows and steps of depth.
  void start(const float* const* first, std::int64_t count, std::int64_t floats, std::int64_t blocks,
             std::int64_t depth);
};

// c[i * c_row + j] (+)= sum over k of a[i * a_row + k] * b[k * pitch + j] for i in [0, rows), j in [0, pitch), k in
// [0, depth), where pitch is `columns` rounded up to whole vectors.
struct Product {
  std::int64_t rows;
  std::int64_t columns;  // at most ProductCode::panel
  std::int64_t depth;
  const float* a;
  std::int64_t a_row;
  const float* b;
  float* c;
  std::int64_t c_row;
  bool add;  // to what c holds
};

// What follows a sum: a bias, another summand, relu, of which each may be absent.
struct Ending {
  const float* bias;
  const float* addend;
  bool relu;
};

// For one vector target.
struct ProductCode {
  std::int64_t lanes;  // of a vector
  std::int64_t panel;  // columns of b at most
  void (*multiply)(const Product& product, Ahead& ahead);
  // to[i * to_step + j] = from[i * from_step + j] for i in [0, rows), j in [0, columns); zeros behind, up to a vector.
  void (*copy)(const float* from, std::int64_t from_step, std::int64_t rows, std::int64_t columns, float* to,
               std::int64_t to_step);
  // to[j * to_step + i] = from[i * from_step + j] for i in [0, rows), j in [0, columns).
  void (*transpose)(const float* from, std::int64_t from_step, std::int64_t rows, std::int64_t columns, float* to,
                    std::int64_t to_step);
  // y[i] from sums[i].
  void (*finish)(const float* sums, const Ending& ending, std::int64_t n, float* y);
  // n values past the caches; plain stores where `to` is not at a line's beginning. hwy::FlushStream() ends a run of
  // these, before other threads read.
  void (*stream)(const float* from, std::int64_t n, float* to);

  // Floats between the rows of a panel of so many columns.
  std::int64_t pitch(std::int64_t columns) const { return (columns + lanes - 1) / lanes * lanes; }
};

// For the vector target in force.
const ProductCode& product_code();

}  // namespace ridgeline::device::dense
