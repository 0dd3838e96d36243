#include "ridgeline/device/cpu/amx/dense_gradient.h"

#include <algorithm>

namespace ridgeline::device::amx {

DenseGradient::DenseGradient(const Dense& d, Tiles tiles, std::optional<DType> bias, Scratch& scratch)
    : dense_(d),
      code_(tile_code(tiles)),
      bias_type_(bias),
      steps_(blocks_of(d.rows, kTileDepth)),
      a_offsets_(even_offsets(steps_, kTileValues)) {
  dy_at_ = reserve_values(scratch, round_up(d.outputs, kBlock) * steps_ * kTileDepth);
  x_at_ = reserve_values(scratch, round_up(d.inputs, kBlock) * steps_ * kTileDepth);
  if (bias) bias_at_ = scratch.reserve(d.outputs);
}

void DenseGradient::prepare(const bfloat16* x, const bfloat16* dy, float* scratch, void* db) const {
  pack_gradient(dy, values_at(scratch, dy_at_));
  pack_rows(x, values_at(scratch, x_at_));
  if (bias_type_) sum_bias(dy, scratch + bias_at_, db);
}

TileProduct DenseGradient::rows_of(std::int64_t output, const float* scratch) const {
  const auto* const dy = reinterpret_cast<const bfloat16*>(scratch + dy_at_);
  TileProduct product{};
  product.a_row = kTileDepth;
  product.a_offsets = product.b_offsets = a_offsets_.data();
  product.steps = steps_;
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

// Tiles of A: [16 outputs][step].
void DenseGradient::pack_gradient(const bfloat16* dy, bfloat16* to) const {
  parallel_for(blocks_of(dense_.outputs, kTileRows), 2, [&](std::int64_t begin, std::int64_t end) {
    const bfloat16* rows[kTileDepth];
    for (std::int64_t block = begin; block < end; ++block) {
      for (std::int64_t step = 0; step < steps_; ++step) {
        for (std::int64_t r = 0; r < kTileDepth; ++r) {
          const std::int64_t row = step * kTileDepth + r;
          rows[r] = row < dense_.rows ? dy + row * dense_.outputs : nullptr;
        }
        code_.transpose(rows, block * kTileRows, dense_.outputs - block * kTileRows,
                        to + (block * steps_ + step) * kTileValues);
      }
    }
  });
}

// Tiles of B: [16 inputs][step].
void DenseGradient::pack_rows(const bfloat16* x, bfloat16* to) const {
  parallel_for(steps_ * kTileRows, kTileRows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t pair = begin; pair < end; ++pair) {
      const bfloat16* const even = 2 * pair < dense_.rows ? x + 2 * pair * dense_.inputs : nullptr;
      const bfloat16* const odd = 2 * pair + 1 < dense_.rows ? x + (2 * pair + 1) * dense_.inputs : nullptr;
      code_.interleave(even, odd, dense_.inputs, to + pair * kTileDepth, steps_ * kTileValues);
    }
  });
}

void DenseGradient::sum_bias(const bfloat16* dy, float* sums, void* db) const {
  std::fill_n(sums, dense_.outputs, 0.0f);
  parallel_for(dense_.outputs, kTileColumns, [&](std::int64_t begin, std::int64_t end) {
    code_.add_rows(dy + begin, dense_.outputs, dense_.rows, end - begin, sums + begin);
  });
  if (*bias_type_ == DType::f32) {
    std::copy_n(sums, dense_.outputs, static_cast<float*>(db));
  } else {
    std::transform(sums, sums + dense_.outputs, static_cast<bfloat16*>(db), to_bfloat16);
  }
}

}  // namespace ridgeline::device::amx
