// ridgeline/device/cpu/tiles/dense_gradient.h
//
// The gradient of dense weights, dw = dy^T x, as products of tiles: both operands are small and are packed into tiles
// once; the products are then computed block by block, in any order and on any thread. Immutable; a run's data are in
// the kernel's scratch memory.
#pragma once

#include <optional>
#include <vector>

#include "ridgeline/device/cpu/tiles/dense.h"

namespace ridgeline::device::tiles {

class DenseGradient {
 public:
  // Reserves its room in `scratch`. `bias`: the type of the bias gradient, if there is one. `halves`: operands are f32,
  // which are split (halves.h).
  DenseGradient(const Dense& d, Tiles tiles, std::optional<DType> bias, Scratch& scratch, bool halves = false);

  // Makes, with the team, the tiles and the gradient of the bias. Operands are bf16, or, with halves, f32.
  void prepare(const void* x, const void* dy, float* scratch, void* db) const;
  // Products of 32 outputs from `output` on by 32 inputs, both multiples of 32, into the sums that p.c points at
  // (tiles.h). Within a TileScope.
  TileProduct rows_of(std::int64_t output, const float* scratch) const;
  void multiply(TileProduct& rows, std::int64_t output, std::int64_t input, const float* scratch) const;

  // The sums of 16 outputs by 16 inputs. `tile` is a product of any rows; the caller sets where its sums go.
  void multiply_tile(TileProduct& tile, std::int64_t output, std::int64_t input, const float* scratch) const;

  const Dense& dense() const { return dense_; }
  const TileCode& code() const { return code_; }
  std::int64_t steps() const { return steps_; }

 private:
  // Rows lie `row_step` apart.
  void pack_gradient(const bfloat16* dy, std::int64_t row_step, bfloat16* to) const;
  void pack_rows(const bfloat16* x, std::int64_t row_step, bfloat16* to) const;
  void sum_bias(const bfloat16* dy, std::int64_t row_step, float* sums) const;
  void store_bias(const float* sums, void* db) const;

  Dense dense_;
  bool halves_;
  const TileCode& code_;
  std::optional<DType> bias_type_;
  std::int64_t steps_;
  std::vector<std::int64_t> a_offsets_, b_offsets_;
  std::int64_t half_dy_, half_x_;  // distances between tiles of high and of low halves
  std::int64_t dy_at_, x_at_, split_at_ = -1, bias_at_ = -1;
};

}  // namespace ridgeline::device::tiles
