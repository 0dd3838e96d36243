// ridgeline/device/cpu/winograd/pooled_correlation.h
//
// A forward pass whose results are pooled while in cache: a thread computes some rows of an image, or some small
// images, for one panel of filters after the other, pools them, and keeps the last rows that the next windows also see.
// The convolution's whole result is never stored. The bits are those of the separate convolution and pool.
#pragma once

#include "ridgeline/device/cpu/pool/pool_geometry.h"
#include "ridgeline/device/cpu/winograd/correlation.h"

namespace ridgeline::device::winograd {

// How the tiles of a batch are divided: into items of whole images, each computed in bands of rows of tiles over all
// its images.
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
  // `pool` over the convolution's results, all of which are in `region`; bands are computed panel by panel. Reserves
  // its memory in `scratch`, for a team of compute_threads().
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

  // The number of windows whose rows are all before `row` of an image.
  std::int64_t windows_before(std::int64_t row) const;
  // The rows before `row` that later windows still see.
  std::int64_t kept_before(std::int64_t row) const;
  void run_band(std::int64_t image, std::int64_t images, std::int64_t band, int thread, const Pixel* in,
                const float* weights, const Results& results, const Ending<Pixel>& ending, float* scratch) const;
  // Pools a panel's rows, of which the first is row `first` of image `image`, up to row `end`; keeps the rows that
  // later calls need.
  void pool_panel(std::int64_t panel, std::int64_t image, std::int64_t images, std::int64_t first, std::int64_t begin,
                  std::int64_t end, Pixel* rows, const Results& results) const;

  PoolGeometry pool_;
  Region region_;
  Bands bands_;
  std::int64_t panel_values_;  // of the rows of a panel
  std::int64_t rows_;          // place in the scratch memory, for each thread and panel
};

}  // namespace ridgeline::device::winograd
