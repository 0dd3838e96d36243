// ridgeline/device/cpu/tiles/patches.h
//
// For images of few channels: all taps of a result's pixel side by side, as one long pixel, so that a convolution
// becomes a product over whole tiles. 11x11 taps over 3 channels are 363 values, 12 tiles; tap by tap they would be
// 121.
#pragma once

#include "ridgeline/device/cpu/tiles/convolution.h"

namespace ridgeline::device::tiles {

// a / b, rounded down; b > 0.
inline std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

class Patches {
 public:
  Patches(const Correlation& correlation, const Part& part);

  // True where patches are better than taps: channels that fill less than one tile.
  static bool wanted(std::int64_t channels) { return channels < kTileDepth; }

  // Values of a patch, whole tiles; padded with zeros.
  std::int64_t width() const { return width_; }
  // Room for the padded image rows under `rows` rows of results, in values.
  std::int64_t padded_values(std::int64_t rows) const;
  // What `make` writes after the last patch of a row.
  static constexpr std::int64_t kBehind = 64;

  // The image rows of one group that rows [first, first + rows) of an image's results read, with zeros around and after
  // them.
  void pad(const TileCode& code, const bfloat16* in, std::int64_t image, std::int64_t group, std::int64_t first,
           std::int64_t rows, bfloat16* padded) const;
  // The patches of the row-th of these rows: to[column][width()].
  void make(const TileCode& code, const bfloat16* padded, std::int64_t row, bfloat16* to) const;

  // The parts of each 16 columns of the patches, for pairs of pixels (tiles.h).
  std::vector<std::vector<PairPart>> pair_parts() const;
  // Rows of a tile of B from the pairs of patches of the row-th of these rows. An odd last pixel is paired with values
  // of the padded rows where the next pixel would be.
  void make_pairs(const TileCode& code, const bfloat16* padded, std::int64_t row, std::span<const PairPart> parts,
                  bfloat16* to) const;

 private:
  std::int64_t in_rows(std::int64_t rows) const { return (rows - 1) * part_.in_step[0] + high_[0] - low_[0] + 1; }
  // The distance from a pixel's patch to the next one's, and from a row's.
  std::int64_t pixel_step() const { return part_.in_step[1] * channels_; }
  std::int64_t row_step() const { return part_.in_step[0] * columns_ * channels_; }
  // Zeros after the padded rows, because pairs read one pixel too many, in whole vectors.
  std::int64_t zeros_behind() const { return pixel_step() + kBehind; }

  Images in_;
  Part part_;
  std::int64_t channels_;  // of a group
  Pair low_{}, high_{};    // taps
  std::int64_t columns_;   // of the padded rows
  std::int64_t width_;
  std::int64_t run_;  // contiguous values of a row
  std::vector<std::int64_t> runs_;
};

}  // namespace ridgeline::device::tiles
