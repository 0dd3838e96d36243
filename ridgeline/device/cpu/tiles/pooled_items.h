// ridgeline/device/cpu/tiles/pooled_items.h
//
// For forward passes whose results are pooled near the core: an item is some rows of windows of an image with all rows
// of results that these see, a band of them. 32 channels of a band are made, rounded, and pooled at once, so that the
// convolution's result is never in memory. Rows that the windows of two items see are computed in both. Plain values.
#pragma once

#include "ridgeline/device/cpu/pool/pool_geometry.h"
#include "ridgeline/device/cpu/tiles/convolution.h"

namespace ridgeline::device::tiles {

struct PooledItem {
  std::int64_t first_window, end_window;  // rows of them
  std::int64_t row, rows;                 // of the convolution's result
};

class PooledItems {
 public:
  // Of bands of at most `rows` rows, or of the rows of one window.
  PooledItems(const PoolGeometry& pool, std::int64_t rows);

  // Of an image.
  std::int64_t count() const { return blocks_of(pool_.oh, windows_); }
  PooledItem item(std::int64_t number) const;
  // The most that an item has.
  std::int64_t rows() const { return rows_; }
  // Of so many rows and 32 channels: [row][column][32].
  std::int64_t band_values(std::int64_t rows) const { return rows * pool_.w * kBlock; }
  // Rows that are computed for an image over those that it has.
  double share() const;

  // An item's windows over 32 channels from `channel` on, from their band.
  void pool(const PooledItem& item, std::int64_t image, std::int64_t channel, const bfloat16* band, bfloat16* y,
            std::uint8_t* index) const;

 private:
  PoolGeometry pool_;
  std::int64_t windows_;  // rows of them in an item
  std::int64_t rows_ = 0;
};

// Why it is better to pool apart.
std::optional<Refusal> refuse_pooled(const Convolution& convolution);
std::optional<Refusal> refuse_overlap(const PooledItems& items);

}  // namespace ridgeline::device::tiles
