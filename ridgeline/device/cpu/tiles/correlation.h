// ridgeline/device/cpu/tiles/correlation.h
//
// Runs a correlation: the forward pass, or the gradient of the image. Work is divided into items of a few hundred
// pixels, each on one thread: their pixels are staged in the core's caches; then, for each 32 result channels, their
// weights pass through all pairs of tiles. Every sum has a fixed order, so the bits depend neither on the items nor on
// the team. Results may be pooled while in cache (pooled_items.h).
#pragma once

#include "ridgeline/device/cpu/tiles/pooled_items.h"
#include "ridgeline/device/cpu/tiles/stage.h"
#include "ridgeline/device/cpu/tiles/weights.h"

namespace ridgeline::device::tiles {

// For results that are stored as To: bf16 or f32.
template <class To>
struct Epilogue {
  const float* bias = nullptr;
  bool relu = false;
  const To* addend = nullptr;  // in the results' layout
  const To* gate = nullptr;    // likewise: results are 0 where it is at most 0
};

class CorrelationCode {
 public:
  // Weights are in the layout `form`; patches count as one tap. `halves`: the first half of the pixels' channels and of
  // the depths of weights are high halves of f32 values, the second half their low ones (halves.h). Reserves its memory
  // in `scratch`, for a team of compute_threads(). With `pool`, for forward passes, the outputs are the pooled results
  // and their index.
  CorrelationCode(const Correlation& correlation, const WeightsForm& form, bool patches, Tiles tiles, Scratch& scratch,
                  bool halves = false, const std::optional<PoolGeometry>& pool = std::nullopt);

  std::int64_t out_channels() const { return shape_.out.channels; }
  const std::optional<PooledItems>& pooled() const { return pooled_; }

  template <class To>
  void run(const bfloat16* in, const bfloat16* weights, To* out, const Epilogue<To>& epilogue, float* scratch,
           std::uint8_t* index = nullptr) const;

 private:
  // How a part's results are divided into items: rows of some images, or of one.
  struct Cut {
    Stage stage;
    std::int64_t images = 1, rows = 1;
    std::int64_t image_blocks = 1, row_blocks = 1;
    std::vector<std::int64_t> a_offsets, b_offsets;
    std::int64_t tiles_of_image() const { return blocks_of(rows * stage.pitch(), kTileRows); }
  };
  struct Item {
    std::size_t part;
    std::int64_t image, images, row, rows, group, first_block, blocks;
    std::int64_t first_window, end_window;  // if results are pooled
  };
  // One row of tiles: where its pixels start, and for each the offset of its result, in values, within the results or
  // the band that is pooled; -1: none.
  struct TileRow {
    const bfloat16* pixels;
    std::int64_t results[kTileRows];
  };

  void add_cut(const Part& part, bool patches, const std::optional<PoolGeometry>& pool);
  void divide_rows(Cut& cut, const Part& part);
  void add_steps(Cut& cut, const Part& part, bool patches) const;
  std::int64_t items() const;
  std::int64_t weight_bytes() const { return form_.values() * static_cast<std::int64_t>(sizeof(bfloat16)); }
  Item item(std::int64_t number) const;
  LinesAhead item_lines(const Item& item, const bfloat16* in) const;
  // `ahead`: what is prefetched meanwhile.
  template <class To>
  void run_item(const Item& item, const bfloat16* in, const bfloat16* weights, To* out, std::uint8_t* index,
                const Epilogue<To>& epilogue, LinesAhead& ahead, char* memory) const;
  // The offset of a part's result, in values.
  std::int64_t result_at(const Part& part, std::int64_t image, std::int64_t row, std::int64_t column) const;
  std::int64_t tile_rows(const Item& item, const bfloat16* staged, TileRow* rows) const;

  int threads_ = compute_threads();
  Correlation shape_;
  WeightsForm form_;
  const TileCode& code_;
  bool staged_;
  bool halves_;
  std::optional<PooledItems> pooled_;
  bool past_caches_;
  bool own_weights_;                // a copy in each thread's memory
  std::vector<Cut> cuts_;           // of the parts
  std::int64_t column_parts_ = 0;   // that divide_rows chose
  std::int64_t filter_blocks_ = 1;  // blocks of 32 result channels in an item
  // In a thread's memory, in bytes.
  std::int64_t spare_at_ = 0, rows_at_ = 0, band_at_ = 0, weights_at_ = 0, thread_bytes_ = 0;
  std::int64_t memory_;
};

}  // namespace ridgeline::device::tiles
