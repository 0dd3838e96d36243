// ridgeline/device/cpu/tiles/pooled_items.h
//
// For forward passes whose results are pooled in cache: an item is some rows of pooling windows of an image, with the
// band of all result rows that they see. 32 channels of a band are computed, rounded and pooled at once, so that the
// convolution's result is never stored. Rows that the windows of two items see are computed in both. Plain values.
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
  // With bands of at most `rows` rows, or of the rows of one window.
  PooledItems(const PoolGeometry& pool, std::int64_t rows);

  // The number of items of an image.
  std::int64_t count() const { return blocks_of(pool_.oh, windows_); }
  PooledItem item(std::int64_t number) const;
  // The largest number of rows of an item.
  std::int64_t rows() const { return rows_; }
  // The values of `rows` rows with 32 channels: [row][column][32].
  std::int64_t band_values(std::int64_t rows) const { return rows * pool_.w * kBlock; }
  // The ratio of computed rows to an image's rows.
  double share() const;

  // Pools an item's windows over 32 channels from `channel` on, from their band.
  void pool(const PooledItem& item, std::int64_t image, std::int64_t channel, const bfloat16* band, bfloat16* y,
            std::uint8_t* index) const;

 private:
  PoolGeometry pool_;
  std::int64_t windows_;  // rows of them in an item
  std::int64_t rows_ = 0;
};

// A refusal if pooling separately is better.
std::optional<Refusal> refuse_pooled(const Convolution& convolution);
std::optional<Refusal> refuse_overlap(const PooledItems& items);

}  // namespace ridgeline::device::tiles
