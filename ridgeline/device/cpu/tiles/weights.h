// ridgeline/device/cpu/tiles/weights.h
//
// Weights as tiles of B: a one-way layout of the bf16 weights [K,taps,C/groups], made once for all readers.
#pragma once

#include <memory>

#include "ridgeline/device/cpu/tiles/convolution.h"
#include "ridgeline/device/layout.h"

namespace ridgeline::device::tiles {

// [group][block of 32 columns][chunk of 32 depths][tap][2 tiles of 16 columns], zeros where there are none. Depths are
// what a product sums over, columns its results. All taps of a chunk read the same pixels, which stay in the
// first-level cache meanwhile.
struct WeightsForm {
  std::int64_t groups = 1;
  std::int64_t filters = 0;  // of a group
  std::int64_t taps = 1;
  std::int64_t channels = 0;  // of a group
  bool turned = false;        // columns are the channels and depths the filters, instead of the reverse

  std::int64_t columns() const { return turned ? channels : filters; }
  std::int64_t depths() const { return turned ? filters : channels; }
  std::int64_t column_blocks() const { return blocks_of(columns(), kBlock); }
  std::int64_t chunks() const { return blocks_of(depths(), kTileDepth); }
  std::int64_t block_values() const { return taps * chunks() * 2 * kTileValues; }
  std::int64_t values() const { return groups * column_blocks() * block_values(); }
  // The offset of a group's block of columns, and in it of a tap's chunk.
  std::int64_t block_at(std::int64_t group, std::int64_t block) const {
    return (group * column_blocks() + block) * block_values();
  }
  std::int64_t step_at(std::int64_t tap, std::int64_t chunk) const { return (chunk * taps + tap) * 2 * kTileValues; }
  friend bool operator==(const WeightsForm&, const WeightsForm&) = default;

  // Packs bf16 weights, or f32 ones rounded to nearest even. Uses the compute team.
  void pack(const TileCode& code, const bfloat16* plain, bfloat16* packed) const;
  void pack(const TileCode& code, const float* plain, bfloat16* packed) const;
};

Layout weights_layout(const WeightsForm& form, Tiles tiles);

}  // namespace ridgeline::device::tiles
