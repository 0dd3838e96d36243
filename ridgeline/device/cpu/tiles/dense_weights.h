// ridgeline/device/cpu/tiles/dense_weights.h
//
// The layout of a dense layer's bf16 weights for the passes that multiply by them: a one-way layout, made once for all
// readers. A layer's weights come from memory in each pass, which is its limit, and the processor prefetches only
// within runs of a few kilobytes: so what a pass reads at a time is contiguous.
#pragma once

#include "ridgeline/device/cpu/tiles/dense.h"
#include "ridgeline/device/layout.h"

namespace ridgeline::device::tiles {

// [block of 32 outputs][step of 32 inputs][32 outputs][32 inputs], two tiles of A a step; zeros where there are none.
struct DenseForm {
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;

  static constexpr std::int64_t kStepValues = 2 * kTileValues;
  std::int64_t blocks() const { return blocks_of(outputs, kBlock); }
  std::int64_t steps() const { return blocks_of(inputs, kTileDepth); }
  std::int64_t values() const { return blocks() * steps() * kStepValues; }
  std::int64_t at(std::int64_t block, std::int64_t step) const { return (block * steps() + step) * kStepValues; }
  friend bool operator==(const DenseForm&, const DenseForm&) = default;

  // Stores up to 32 rows of a block, `n` inputs of each, starting at a whole step: `to` is that step's place. Bypasses
  // the caches, since it is not read soon.
  static void store_rows(const TileCode& code, const bfloat16* rows, std::int64_t row_step, std::int64_t count,
                         std::int64_t n, bfloat16* to);
  // Pack plain rows of either type. Use the compute team.
  void pack(const TileCode& code, const bfloat16* plain, bfloat16* packed) const;
  void pack(const TileCode& code, const float* plain, bfloat16* packed) const;
  // Pack states in blocks (dense_states.h).
  void pack_blocks(const TileCode& code, const float* blocks, bfloat16* packed) const;
};

Layout dense_layout(const DenseForm& form, Tiles tiles);
// Whether `layout` is this one.
bool is_dense_layout(const Layout& layout, const DenseForm& form);

}  // namespace ridgeline::device::tiles
