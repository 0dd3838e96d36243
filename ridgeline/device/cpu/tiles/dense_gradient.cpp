#include "ridgeline/device/cpu/tiles/dense_gradient.h"

#include <algorithm>

#include "ridgeline/device/cpu/team_shares.h"
#include "ridgeline/device/cpu/tiles/halves.h"

namespace ridgeline::device::tiles {

DenseGradient::DenseGradient(const Dense& d, Tiles tiles, std::optional<DType> bias, Scratch& scratch, bool halves)
    : dense_(d),
      halves_(halves),
      code_(tile_code(tiles)),
      bias_type_(bias),
      steps_(blocks_of(d.rows, kTileDepth)),
      half_dy_(round_up(d.outputs, kBlock) * steps_ * kTileDepth),
      half_x_(round_up(d.inputs, kBlock) * steps_ * kTileDepth) {
  a_offsets_ = halves ? halves_offsets(steps_, kTileValues, half_dy_, false) : even_offsets(steps_, kTileValues);
  b_offsets_ = halves ? halves_offsets(steps_, kTileValues, half_x_, true) : a_offsets_;
  dy_at_ = reserve_values(scratch, half_dy_ * (halves ? 2 : 1));
  x_at_ = reserve_values(scratch, half_x_ * (halves ? 2 : 1));
  if (halves) split_at_ = reserve_values(scratch, d.rows * both_halves(std::max(d.inputs, d.outputs)));
  if (bias) bias_at_ = scratch.reserve(d.outputs);
}

void DenseGradient::prepare(const void* x, const void* dy, float* scratch, void* db) const {
  bfloat16 *const dy_tiles = values_at(scratch, dy_at_), *const x_tiles = values_at(scratch, x_at_);
  float* const sums = scratch + bias_at_;
  if (bias_type_) std::fill_n(sums, dense_.outputs, 0.0f);
  if (halves_) {
    bfloat16* const split = values_at(scratch, split_at_);
    split_rows(code_, static_cast<const float*>(dy), dense_.rows, dense_.outputs, split);
    for (std::int64_t half = 0; half < 2; ++half) {
      const bfloat16* const from = split + half * half_channels(dense_.outputs);
      pack_gradient(from, both_halves(dense_.outputs), dy_tiles + half * half_dy_);
      if (bias_type_) sum_bias(from, both_halves(dense_.outputs), sums);
    }
    split_rows(code_, static_cast<const float*>(x), dense_.rows, dense_.inputs, split);
    for (std::int64_t half = 0; half < 2; ++half) {
      pack_rows(split + half * half_channels(dense_.inputs), both_halves(dense_.inputs), x_tiles + half * half_x_);
    }
  } else {
    pack_gradient(static_cast<const bfloat16*>(dy), dense_.outputs, dy_tiles);
    pack_rows(static_cast<const bfloat16*>(x), dense_.inputs, x_tiles);
    if (bias_type_) sum_bias(static_cast<const bfloat16*>(dy), dense_.outputs, sums);
  }
  if (bias_type_) store_bias(sums, db);
}

TileProduct DenseGradient::rows_of(std::int64_t output, const float* scratch) const {
  const auto* const dy = reinterpret_cast<const bfloat16*>(scratch + dy_at_);
  TileProduct product{};
  product.a_row = kTileDepth;
  product.a_turned = code_.turns_a;
  product.a_offsets = a_offsets_.data();
  product.b_offsets = b_offsets_.data();
  product.steps = static_cast<std::int64_t>(a_offsets_.size());
  product.a[0] = dy + output / kTileRows * steps_ * kTileValues;
  product.a[1] = product.a[0] + steps_ * kTileValues;
  return product;
}

void DenseGradient::multiply(TileProduct& rows, std::int64_t output, std::int64_t input, const float* scratch) const {
  const auto* const x = reinterpret_cast<const bfloat16*>(scratch + x_at_);
  rows.b[0] = x + input / kTileColumns * steps_ * kTileValues;
  rows.b[1] = rows.b[0] + steps_ * kTileValues;
  code_.multiply[dense_.outputs - output > kTileRows][dense_.inputs - input > kTileColumns](rows);
}

void DenseGradient::multiply_tile(TileProduct& tile, std::int64_t output, std::int64_t input,
                                  const float* scratch) const {
  tile.a[0] = reinterpret_cast<const bfloat16*>(scratch + dy_at_) + output / kTileRows * steps_ * kTileValues;
  tile.b[0] = reinterpret_cast<const bfloat16*>(scratch + x_at_) + input / kTileColumns * steps_ * kTileValues;
  code_.multiply[0][0](tile);
}

// Tiles of A: [16 outputs][step].
void DenseGradient::pack_gradient(const bfloat16* dy, std::int64_t row_step, bfloat16* to) const {
  parallel_for(blocks_of(dense_.outputs, kTileRows), 2, [&](std::int64_t begin, std::int64_t end) {
    const bfloat16* rows[kTileDepth];
    for (std::int64_t block = begin; block < end; ++block) {
      for (std::int64_t step = 0; step < steps_; ++step) {
        for (std::int64_t r = 0; r < kTileDepth; ++r) {
          const std::int64_t row = step * kTileDepth + r;
          rows[r] = row < dense_.rows ? dy + row * row_step : nullptr;
        }
        code_.transpose(rows, block * kTileRows, dense_.outputs - block * kTileRows,
                        to + (block * steps_ + step) * kTileValues);
      }
    }
  });
}

// Tiles of B: [16 inputs][step].
void DenseGradient::pack_rows(const bfloat16* x, std::int64_t row_step, bfloat16* to) const {
  // A pair of rows is a line of each tile. Large teams divide tiles: there are few.
  const std::int64_t grain = compute_threads() > kSmallTeam ? 1 : kTileRows;
  parallel_for(steps_ * kTileRows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t pair = begin; pair < end; ++pair) {
      const bfloat16* const even = 2 * pair < dense_.rows ? x + 2 * pair * row_step : nullptr;
      const bfloat16* const odd = 2 * pair + 1 < dense_.rows ? x + (2 * pair + 1) * row_step : nullptr;
      code_.interleave(even, odd, dense_.inputs, to + pair * kTileDepth, steps_ * kTileValues);
    }
  });
}

void DenseGradient::sum_bias(const bfloat16* dy, std::int64_t row_step, float* sums) const {
  parallel_for(dense_.outputs, kTileColumns, [&](std::int64_t begin, std::int64_t end) {
    code_.add_rows(dy + begin, row_step, dense_.rows, end - begin, sums + begin);
  });
}

void DenseGradient::store_bias(const float* sums, void* db) const {
  if (*bias_type_ == DType::f32) {
    std::copy_n(sums, dense_.outputs, static_cast<float*>(db));
  } else {
    std::transform(sums, sums + dense_.outputs, static_cast<bfloat16*>(db), to_bfloat16);
  }
}

}  // namespace ridgeline::device::tiles
