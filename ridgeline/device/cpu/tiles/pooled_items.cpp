#include "ridgeline/device/cpu/tiles/pooled_items.h"

#include <algorithm>

#include "ridgeline/device/cpu/pool/max_pool.h"

namespace ridgeline::device::tiles {

PooledItems::PooledItems(const PoolGeometry& pool, std::int64_t rows) : pool_(pool) {
  const std::int64_t most = rows >= pool.h ? pool.oh : std::max<std::int64_t>(1, (rows - pool.kh) / pool.sh + 1);
  windows_ = blocks_of(pool.oh, blocks_of(pool.oh, most));
  for (std::int64_t i = 0; i < count(); ++i) rows_ = std::max(rows_, item(i).rows);
}

PooledItem PooledItems::item(std::int64_t number) const {
  const std::int64_t first = number * windows_, end = std::min(pool_.oh, first + windows_);
  const std::int64_t row = pool_.first_row(first);
  return {first, end, row, pool_.end_row(end) - row};
}

double PooledItems::share() const {
  std::int64_t rows = 0;
  for (std::int64_t i = 0; i < count(); ++i) rows += item(i).rows;
  return static_cast<double>(rows) / static_cast<double>(pool_.h);
}

void PooledItems::pool(const PooledItem& item, std::int64_t image, std::int64_t channel, const bfloat16* band,
                       bfloat16* y, std::uint8_t* index) const {
  const PoolRows lie{.first_row = item.row, .channels = kBlock, .x_pixel = kBlock, .y_pixel = pool_.c};
  const std::int64_t at = image * pool_.oh * pool_.ow * pool_.c + channel;
  max_pool_rows(pool_, lie, band, y + at, index + at, item.first_window, item.end_window);
}

std::optional<Refusal> refuse_pooled(const Convolution& c) {
  if (c.group_filters() % kBlock == 0) return std::nullopt;
  return Refusal{std::to_string(c.group_filters()) + " filters: the last ones fill no vector of a pool"};
}

std::optional<Refusal> refuse_overlap(const PooledItems& items) {
  constexpr double kMost = 1.0 + 1.0 / 16;
  if (items.share() <= kMost) return std::nullopt;
  return Refusal{"windows that overlap, and too few rows of results near the core: many would be computed twice"};
}

}  // namespace ridgeline::device::tiles
