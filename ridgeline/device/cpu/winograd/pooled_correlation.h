// ridgeline/device/cpu/winograd/pooled_correlation.h
//
// A forward pass whose results are pooled while they are near the core: a thread makes some rows of an image, or some
// small images, for one panel of filters after the other, pools them, and keeps the last rows that the next windows see
// as well. The convolution's result is never in memory as a whole. Bits are those of the convolution and the pool
// apart.
#pragma once

#include "ridgeline/device/cpu/pool/pool_geometry.h"
#include "ridgeline/device/cpu/winograd/correlation.h"

namespace ridgeline::device::winograd {

// How the tiles of a batch are cut: items of whole images, each done in bands of rows of tiles, of all its images.
struct Bands {
  std::int64_t images = 1;  // of an item; several only in one band
  std::int64_t rows = 0;    // of tiles, in a band
  std::int64_t count = 0;   // of bands, in an item

  // For a team of compute_threads().
  Bands(const Convolution& convolution, const Region& region);
  std::int64_t tiles = 0;  // of a band
};

template <class Pixel>
class PooledCorrelation : private CorrelationCode<Pixel> {
 public:
  // `pool` over the convolution's results, of which `region` has all and whose bands go panel by panel. Reserves its
  // memory in `scratch`, for a team of compute_threads().
  PooledCorrelation(const Convolution& convolution, const Region& region, const PoolGeometry& pool, Scratch& scratch);

  void run(const Pixel* in, const float* weights, Pixel* y, std::uint8_t* index, const Ending<Pixel>& ending,
           float* scratch) const;

 private:
  using Base = CorrelationCode<Pixel>;
  using Item = typename Base::Item;
  struct Results {
    Pixel* y;
    std::uint8_t* index;
  };

  // Windows whose rows all lie before `row` of an image.
  std::int64_t windows_before(std::int64_t row) const;
  // Rows before `row` that later windows see.
  std::int64_t kept_before(std::int64_t row) const;
  void run_band(std::int64_t image, std::int64_t images, std::int64_t band, int thread, const Pixel* in,
                const float* weights, const Results& results, const Ending<Pixel>& ending, float* scratch) const;
  // Pools a panel's rows, of which the first is row `first` of image `image`, up to row `end`; keeps what comes next
  // needs.
  void pool_panel(std::int64_t panel, std::int64_t image, std::int64_t images, std::int64_t first, std::int64_t begin,
                  std::int64_t end, Pixel* rows, const Results& results) const;

  PoolGeometry pool_;
  Region region_;
  Bands bands_;
  std::int64_t panel_values_;  // of the rows of a panel
  std::int64_t rows_;          // place in the scratch memory, for each thread and panel
};

}  // namespace ridgeline::device::winograd
