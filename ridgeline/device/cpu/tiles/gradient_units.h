// ridgeline/device/cpu/tiles/gradient_units.h
//
// The operands of a convolution's weight gradient, dw = sum over pixels of dy x, packed into tiles. A unit is a range
// of rows of results: all rows of some images, or some rows of one. Its pixels are the depths of the products, so dy is
// transposed into tiles of A (rows are filters) and pairs of pixels of x become rows of B, one plane for each column of
// taps and each remainder of a tap's row by the stride; columns of taps that are an even number of results apart share
// one where the zeros between two rows allow it, as 3x3 taps over images of an odd width do. With few channels the taps
// of a pixel are one patch, or, where the kernel is higher than its stride, those of `stride` rows: the next rows' are
// the patch of the pixel below, and each value of x is brought into tiles once for each column of taps. Rows are padded
// to an even number of pixels, so that pairs stay pairs under every tap, and images to whole tiles; dy is zero there, x
// is finite.
#pragma once

#include <algorithm>

#include "ridgeline/device/cpu/tiles/patches.h"

namespace ridgeline::device::tiles {

class GradientUnits {
 public:
  // A unit has at most `most_pixels`, unless an image's row is longer.
  GradientUnits(const Correlation& forward, bool patches, std::int64_t most_pixels);

  struct Unit {
    std::int64_t image, images, row, rows;
  };
  std::int64_t count() const { return image_blocks_ * row_blocks_; }
  Unit unit(std::int64_t number) const;

  // Steps of a product over a whole unit; the tiles of A of 16 filters are contiguous.
  std::int64_t steps() const { return images_ * image_steps(rows_); }
  std::int64_t steps(const Unit& unit) const { return unit.images * image_steps(unit.rows); }
  // The offsets of each step's rows of B.
  const std::vector<std::int64_t>& b_offsets() const { return b_offsets_; }

  // Columns of the gradient at one tap, for one group: channels, or a patch. The columns of all taps are one row of the
  // gradient; the last patch may reach over its end.
  std::int64_t columns() const { return columns_; }
  std::int64_t taps() const { return static_cast<std::int64_t>(places_.size()); }
  // Whether it is a whole block of 32 channels, which is interleaved mixed (tiles.h).
  bool mixed(std::int64_t block) const { return !patches_ && (block + 1) * kBlock <= columns_; }
  std::int64_t columns_at(std::int64_t tap) const { return std::min(columns_, row_columns_ - tap * columns_); }
  std::int64_t row_columns() const { return row_columns_; }
  // Values of 16 columns over all planes and images of a unit, and where a tap begins in them.
  std::int64_t column_values() const { return column_values_; }
  std::int64_t tap_at(std::int64_t tap) const { return taps_at_[static_cast<std::size_t>(tap)]; }
  // All taps, those of a plane consecutively: they read nearly the same rows of B.
  const std::vector<std::int64_t>& taps_by_plane() const { return taps_by_plane_; }
  // Room for unfinished work.
  std::int64_t spare_values() const;

  // The rows of dy of a unit, counted through all images, and the most of them.
  Pair gradient_rows(const Unit& unit) const;
  std::int64_t most_rows() const { return images_ * rows_; }
  // Tiles of `filters` rows of dy from channel `first` on: [16 filters][steps()][512]. dy begins at the unit's rows.
  void stage_gradient(const TileCode& code, const bfloat16* dy, const Unit& unit, std::int64_t first,
                      std::int64_t filters, bfloat16* to) const;
  // Columns [first, first + n) of a group of x: [16 columns][column_values()]; n is a multiple of 16 or reaches the
  // end.
  void stage_image(const TileCode& code, const bfloat16* x, const Unit& unit, std::int64_t group, std::int64_t first,
                   std::int64_t n, bfloat16* spare, bfloat16* to) const;

  // What stage_gradient and stage_image read for a unit; `then`: what is prefetched after it.
  LinesAhead gradient_lines(const bfloat16* dy, const Unit& unit, std::int64_t first, std::int64_t filters) const;
  LinesAhead image_lines(const bfloat16* x, const Unit& unit, std::int64_t group, std::int64_t first, std::int64_t n,
                         const LinesAhead* then) const;

  // sums[i] += channel first + i of every pixel of dy, which begins at the unit's rows.
  void add_pixels(const TileCode& code, const bfloat16* dy, const Unit& unit, std::int64_t first, std::int64_t n,
                  float* sums) const;

 private:
  struct Plane {
    std::int64_t column;     // of its first taps
    std::int64_t remainder;  // of their rows by the stride
  };
  struct Place {
    std::size_t plane;
    std::int64_t row;    // in the plane
    std::int64_t pixel;  // in that row, an even number
  };
  std::optional<std::int64_t> shared_pixel(std::int64_t plane_column, std::int64_t column) const;
  std::int64_t pitch() const { return round_up(part_.size[1], 2); }
  std::int64_t image_steps(std::int64_t rows) const { return blocks_of(rows * pitch(), kTileDepth); }
  std::int64_t plane_values() const;
  std::int64_t image_values() const { return static_cast<std::int64_t>(planes_.size()) * plane_values(); }
  void stage_taps(const TileCode& code, const bfloat16* x, std::int64_t image, const Unit& unit, std::int64_t channel,
                  std::int64_t n, bfloat16* to) const;
  void stage_row(const TileCode& code, const bfloat16* x, std::int64_t image, std::int64_t row, std::int64_t tap_column,
                 std::int64_t channel, std::int64_t n, bfloat16* to) const;
  void stage_patches(const TileCode& code, const bfloat16* x, std::int64_t image, const Unit& unit, std::int64_t group,
                     std::int64_t first, std::int64_t n, bfloat16* spare, bfloat16* to) const;

  Images in_, out_;
  Part part_;
  std::int64_t channels_;  // of a group
  std::int64_t row_columns_;
  std::int64_t columns_;
  std::optional<Patches> patches_;
  std::vector<std::vector<PairPart>> patch_parts_;
  std::vector<Plane> planes_;
  std::vector<Place> places_;
  std::vector<std::int64_t> taps_by_plane_;
  std::vector<std::int64_t> taps_at_;
  std::int64_t most_pixel_ = 0;            // of the places
  std::int64_t first_row_ = 0, span_ = 0;  // least quotient of a tap's row by the stride, and the greatest less that
  std::int64_t images_ = 1, rows_ = 1, image_blocks_ = 1, row_blocks_ = 1;
  std::vector<std::int64_t> b_offsets_;
  std::int64_t column_values_ = 0;
};

}  // namespace ridgeline::device::tiles
