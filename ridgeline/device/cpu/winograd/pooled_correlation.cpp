#include "ridgeline/device/cpu/winograd/pooled_correlation.h"

#include <algorithm>
#include <cstring>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/pool/max_pool.h"

namespace ridgeline::device::winograd {

Bands::Bands(const Convolution& convolution, const Region& region) {
  const std::int64_t wanted = wanted_tiles({region.rule, convolution.channels(), convolution.filters()});
  const std::int64_t of_image = region.tiles(), batch = convolution.result.count;
  if (2 * of_image <= wanted) {
    const std::int64_t fair = std::max<std::int64_t>(1, batch / (4 * compute_threads()));
    images = std::clamp<std::int64_t>(wanted / of_image, 1, fair);
  }
  const std::int64_t most = std::max<std::int64_t>(1, (wanted + region.across / 2) / region.across);
  const std::int64_t bands = images > 1 ? 1 : (region.down + most - 1) / most;
  rows = (region.down + bands - 1) / bands;
  count = (region.down + rows - 1) / rows;
  tiles = images * rows * region.across;
}

template <class Pixel>
PooledCorrelation<Pixel>::PooledCorrelation(const Convolution& convolution, const Region& region,
                                            const PoolGeometry& pool, Scratch& scratch)
    : Base(convolution, region, Pass::forward, Bands(convolution, region).tiles, scratch),
      pool_(pool),
      region_(region),
      bands_(convolution, region) {
  const std::int64_t whole = bands_.images * pool_.h;
  const std::int64_t rows = bands_.count == 1 ? whole : std::min(whole, bands_.rows * Base::rule_.m + pool_.kh);
  const std::int64_t floats = sizeof(float) / sizeof(Pixel);
  panel_values_ = round_up(rows * pool_.w * Base::panel_, kLineFloats * floats);
  const std::int64_t panels = bands_.count == 1 ? 1 : Base::weights_.panels();
  rows_ = scratch.reserve(compute_threads() * panels * panel_values_ / floats);
}

template <class Pixel>
std::int64_t PooledCorrelation<Pixel>::windows_before(std::int64_t row) const {
  if (row >= pool_.h) return pool_.oh;
  const std::int64_t room = row + pool_.top - pool_.kh;
  return room < 0 ? 0 : std::min(pool_.oh, room / pool_.sh + 1);
}

template <class Pixel>
std::int64_t PooledCorrelation<Pixel>::kept_before(std::int64_t row) const {
  if (row >= pool_.h) return 0;
  return std::max<std::int64_t>(0, row - std::max<std::int64_t>(0, windows_before(row) * pool_.sh - pool_.top));
}

template <class Pixel>
void PooledCorrelation<Pixel>::run(const Pixel* in, const float* weights, Pixel* y, std::uint8_t* index,
                                   const Ending<Pixel>& ending, float* scratch) const {
  Base::reader_.prepare(scratch);
  for_each_item((pool_.n + bands_.images - 1) / bands_.images, [&](std::int64_t item, int thread) {
    const std::int64_t image = item * bands_.images, images = std::min(bands_.images, pool_.n - image);
    for (std::int64_t band = 0; band < bands_.count; ++band)
      run_band(image, images, band, thread, in, weights, {y, index}, ending, scratch);
  });
}

template <class Pixel>
void PooledCorrelation<Pixel>::run_band(std::int64_t image, std::int64_t images, std::int64_t band, int thread,
                                        const Pixel* in, const float* weights, const Results& results,
                                        const Ending<Pixel>& ending, float* scratch) const {
  const std::int64_t first = band * bands_.rows, end = std::min(region_.down, first + bands_.rows);
  Item item{(image * region_.down + first) * region_.across,
            ((images - 1) * region_.down + end - first) * region_.across, 0, 1};
  float *const v = Base::v_of(thread, scratch), *const m = Base::m_of(thread, scratch);
  Base::read_tiles(item, thread, in, scratch, v);
  const std::int64_t panels = Base::weights_.panels(), begin_row = first * Base::rule_.m;
  const std::int64_t end_row = std::min(pool_.h, end * Base::rule_.m), kept = kept_before(begin_row);
  for (; item.first_panel < panels; ++item.first_panel) {
    Base::multiply_tiles(item, v, weights, nullptr, m);
    const std::int64_t place = bands_.count == 1 ? thread : thread * panels + item.first_panel;
    Pixel* const rows = reinterpret_cast<Pixel*>(scratch + rows_) + place * panel_values_;
    Base::write_tiles(item, thread, m, {rows, Base::panel_, image * pool_.h + begin_row - kept}, ending, scratch);
    pool_panel(item.first_panel, image, images, begin_row - kept, begin_row, end_row, rows, results);
  }
}

template <class Pixel>
void PooledCorrelation<Pixel>::pool_panel(std::int64_t panel, std::int64_t image, std::int64_t images,
                                          std::int64_t first, std::int64_t begin, std::int64_t end, Pixel* rows,
                                          const Results& results) const {
  const std::int64_t channel = panel * Base::panel_, row_values = pool_.w * Base::panel_;
  const PoolRows lie{.first_row = first,
                     .channels = std::min(Base::panel_, pool_.c - channel),
                     .x_pixel = Base::panel_,
                     .y_pixel = pool_.c};
  for (std::int64_t i = 0; i < images; ++i) {
    const std::int64_t at = (image + i) * pool_.oh * pool_.ow * pool_.c + channel;
    max_pool_rows(pool_, lie, rows + i * pool_.h * row_values, results.y + at, results.index + at,
                  windows_before(begin), windows_before(end));
  }
  const std::int64_t kept = kept_before(end);
  std::memmove(static_cast<void*>(rows), rows + (end - kept - first) * row_values,
               static_cast<std::size_t>(kept * row_values) * sizeof(Pixel));
}

template class PooledCorrelation<float>;
template class PooledCorrelation<bfloat16>;

}  // namespace ridgeline::device::winograd
