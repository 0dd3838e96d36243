// ridgeline/device/cpu/winograd/correlation.h
//
// The forward pass and the image's gradient are one computation: blocks of tiles, each on one thread:
//   V = B^T in B    for each tile and channel
//   M = V U one matrix product per position
//   out = A^T M A   and the epilogue
// Images are f32 or bf16, everything between is f32. Every sum over channels has a fixed order, so the bits depend
// neither on the blocks nor on the team.
#pragma once

#include <cstdint>

#include "ridgeline/device/cpu/products/products.h"
#include "ridgeline/device/cpu/winograd/reader.h"
#include "ridgeline/device/cpu/winograd/scratch.h"
#include "ridgeline/device/cpu/winograd/tiles.h"
#include "ridgeline/device/cpu/winograd/weights.h"

namespace ridgeline::device::winograd {

// What is done to the results before they are stored: bias, then the image `addend` of their shape, then relu, then 0
// where the image `gate` is at most 0.
template <class Pixel>
struct Ending {
  const float* bias = nullptr;
  const Pixel* addend = nullptr;
  const Pixel* gate = nullptr;
  bool relu = false;
};

// Tiles of a block: as many as keep V and M in the core's caches, more if transformed weights must come from memory.
std::int64_t wanted_tiles(const WeightsForm& weights);
// Whether V of `tiles` tiles leaves room for one panel's M in the second-level cache: then each panel is finished
// before the next one is computed. Else M of all panels is computed first, since V would come from the last-level cache
// for each.
bool panel_by_panel(Rule rule, std::int64_t tiles, std::int64_t channels);

// Computes one region.
template <class Pixel>
class CorrelationCode {
 public:
  // Reserves its memory in `scratch`, for a team of compute_threads().
  CorrelationCode(const Convolution& convolution, const Region& region, Pass pass, Scratch& scratch);

  // `weights` are transformed: rows are the channels of `in`, columns those of `out`.
  void run(const Pixel* in, const float* weights, Pixel* out, const Ending<Pixel>& ending, float* scratch) const;

 protected:
  struct Item {
    std::int64_t first_tile, tiles;
    std::int64_t first_panel, panels;
  };
  // Where an item's results go: rows of the result from `first_row` on, counted through all images.
  struct Place {
    Pixel* rows;  // of the item's first channel
    std::int64_t channels;
    std::int64_t first_row;
  };
  // Items have at most `item_tiles` tiles, and all panels; 0: as run() prefers.
  CorrelationCode(const Convolution& convolution, const Region& region, Pass pass, std::int64_t tiles,
                  Scratch& scratch);
  void choose_blocks(std::int64_t threads);
  void divide(std::int64_t threads, std::int64_t wanted);
  float* v_of(int thread, float* scratch) const { return scratch + v_ + thread * rule_.positions() * v_distance_; }
  float* m_of(int thread, float* scratch) const { return scratch + m_ + thread * rule_.positions() * m_distance_; }
  void read_tiles(const Item& item, int thread, const Pixel* in, float* scratch, float* v) const;
  // `soon`: an image that is read at the results' places, or null.
  void multiply_tiles(const Item& item, const float* v, const float* weights, const Pixel* soon, float* m) const;
  std::size_t soon_lines(const Item& item, const Pixel* image, std::int64_t begin, std::int64_t end,
                         products::Lines* lines) const;
  void write_tiles(const Item& item, int thread, const float* m, const Place& to, const Ending<Pixel>& ending,
                   float* scratch) const;

  Correlation shape_;
  Rule rule_;
  Tiles tiles_;
  TileReader reader_;
  WeightsForm weights_;
  const TransformSet<Pixel>* transforms_;
  const products::ProductCode& code_;
  std::int64_t panel_;
  std::int64_t block_tiles_;  // of an item
  std::int64_t block_panels_;
  std::int64_t group_panels_;          // of an item that are multiplied before they are written
  std::int64_t v_row_, v_distance_;    // V: [position][tile][channel]
  std::int64_t m_panel_, m_distance_;  // M: [position][panel of the item][tile][column of the panel]
  std::int64_t sink_, v_, m_;          // places in the scratch memory, once for each thread
};

}  // namespace ridgeline::device::winograd
