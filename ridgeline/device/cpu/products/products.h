// ridgeline/device/cpu/products/products.h
//
// The f32 matrix product of which convolutions and dense layers consist, and functions that pack operands of f32 or
// bf16 for it and convert its sums to results of these types. The order of every sum depends only on the depth, with
// one lane for each element: the same bits with vectors of any length. Any thread may call.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "ridgeline/core/dtype.h"

namespace ridgeline::device::products {

// Rows that are multiplied at a time.
constexpr std::int64_t kBlockRows = 6;
// This depth of a panel of 64 columns takes two thirds of a first-level cache of 48 KB. Callers that divide a sum into
// runs, formed in registers and then added, use runs of this many products: this is part of what defines their bits.
constexpr std::int64_t kDepth = 128;

// Cache lines from `begin` on.
constexpr std::int64_t kLineBytes = 64;
struct Lines {
  const char* begin = nullptr;
  std::int64_t count = 0;
};
template <class Value>
Lines lines_of(const Value* begin, std::int64_t values) {
  constexpr std::int64_t kOfLine = kLineBytes / static_cast<std::int64_t>(sizeof(Value));
  return {reinterpret_cast<const char*>(begin), (values + kOfLine - 1) / kOfLine};
}

// Memory that products prefetch while they multiply, so that it is in the second-level cache when needed. The
// prefetches are spread evenly over the depth steps of one or several products: a core can have only few lines in
// flight, and its own reads need them, too. The pieces must stay valid until the last product is done.
class Ahead {
 public:
  Ahead() = default;
  // `fours`: how many groups of four steps all blocks of rows of the products take.
  Ahead(std::span<const Lines> pieces, std::int64_t fours);

  static constexpr std::int64_t fours(std::int64_t rows, std::int64_t depth) {
    return (rows + kBlockRows - 1) / kBlockRows * (depth / 4);
  }

  static constexpr int kMost = 1024;  // lines that are prefetched at a time
  // What each group of four steps of a block prefetches: 0, 1, 2 or 4 lines, from `first` on or as listed.
  struct Share {
    int lines = 0;
    const char* first = nullptr;
    const char* const* list = nullptr;
  };
  // The share of a block with `fours` groups; `list` has room for kMost. Inline, because blocks may be as short as a
  // few hundred cycles.
  Share next(std::int64_t fours, const char** list) {
    if (left_ == 0 || fours == 0) return {};
    // Whole lines for every group, as near to the pace as possible; the remainder is carried to the next block.
    due_ += pace_;
    int each = due_ >= 7 * kHalf ? 4 : due_ >= 3 * kHalf ? 2 : due_ >= kHalf ? 1 : 0;
    while (each * fours > kMost) each /= 2;
    if (each == 0) return {};
    due_ -= each * 2 * kHalf;
    const std::int64_t count = each * fours;
    if (left_of_piece_ < count) return listed(each, count, list);
    const Share share{each, at_, nullptr};
    at_ += count * kLineBytes;
    left_of_piece_ -= count;
    left_ -= count;
    return share;
  }

 private:
  static constexpr std::int64_t kHalf = 1 << 15;
  // A share that spans several pieces.
  Share listed(int each, std::int64_t count, const char** list);

  std::span<const Lines> pieces_;
  const char* at_ = nullptr;                   // the line that is next
  std::int64_t left_of_piece_ = 0, left_ = 0;  // lines
  std::int64_t pace_ = 0, due_ = kHalf;        // lines for each group, in units of which kHalf are half a line
};

// c[i * c_row + j] = from[i * from_row + j] + sum over k of a[i * a_row + k * a_step] * b[k * b_step + j]
// for i in [0, rows), j in [0, columns rounded up to whole vectors), k in [0, depth). Columns beyond the last one are
// read in b and written in c. The depth is cut into steps of `depth_step`; the sum of each is made in registers and
// added with one rounding. The order of each sum depends only on depth and depth_step.
struct Product {
  std::int64_t rows;
  std::int64_t columns;  // at most ProductCode::panel
  std::int64_t depth;
  std::int64_t depth_step;
  const float* a;
  std::int64_t a_row;
  std::int64_t a_step;
  std::int64_t a_block = 0;  // from kBlockRows rows to the next; 0: by a_row
  const float* b;
  std::int64_t b_step;  // ProductCode::panel for a whole panel
  float* c;
  std::int64_t c_row;
  const float* from = nullptr;  // null: nothing is added
  std::int64_t from_row = 0;
  bool stream = false;  // c goes past the caches: whole lines of it, and one step of depth
};

// What is applied to a sum: a bias, another summand, relu, each optional.
template <class Value>
struct Ending {
  const float* bias = nullptr;
  const Value* addend = nullptr;
  bool relu = false;
};

// Packs operands of one type, f32 or bf16, into f32 as products read them, and rounds f32 sums to results of that type,
// to nearest even.
template <class Value>
struct Moves {
  // to[i * to_step + j] = from[i * from_step + j] for i in [0, rows), j in [0, columns); at least one column.
  void (*copy)(const Value* from, std::int64_t from_step, std::int64_t rows, std::int64_t columns, float* to,
               std::int64_t to_step);
  // to[j * to_step + i] = from[i * from_step + j] for i in [0, rows), j in [0, columns).
  void (*transpose)(const Value* from, std::int64_t from_step, std::int64_t rows, std::int64_t columns, float* to,
                    std::int64_t to_step);
  // Writes a row of n columns into slices of kBlockRows columns, which are the rows of a product: to[j / kBlockRows *
  // slice + j % kBlockRows] = from[j]. May write the two floats after each slice's.
  void (*slice)(const Value* from, std::int64_t n, float* to, std::int64_t slice);
  // y[i] from sums[i].
  void (*finish)(const float* sums, const Ending<Value>& ending, std::int64_t n, Value* y);
  // Stores n values bypassing the caches; plain stores if `to` is not aligned to a line. Call hwy::FlushStream() after
  // such stores before other threads read.
  void (*stream)(const float* from, std::int64_t n, Value* to);
};

// The functions for one vector target. The inherited moves are those of f32.
struct ProductCode : Moves<float> {
  Moves<bfloat16> narrow;
  std::int64_t lanes;  // of a vector
  std::int64_t panel;  // columns of b at most
  void (*multiply)(const Product& product, Ahead& ahead);
  // Writes zeros, bypassing the caches.
  void (*zero)(void* to, std::int64_t bytes);

  template <class Value>
  const Moves<Value>& of() const {
    if constexpr (std::is_same_v<Value, float>) {
      return *this;
    } else {
      return narrow;
    }
  }

  // Floats between the rows of a panel of `columns` columns.
  std::int64_t pitch(std::int64_t columns) const { return (columns + lanes - 1) / lanes * lanes; }
};

// For the active vector target.
const ProductCode& product_code();

}  // namespace ridgeline::device::products
