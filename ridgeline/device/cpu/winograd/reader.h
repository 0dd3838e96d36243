// ridgeline/device/cpu/winograd/reader.h
//
// Gives a thread the pixels of one tile: in place in the image, or gathered into blocks.
#pragma once

#include <algorithm>

#include "ridgeline/device/cpu/winograd/convolution.h"
#include "ridgeline/device/cpu/winograd/scratch.h"

namespace ridgeline::device::winograd {

class TileReader {
 public:
  // Reserves a row of zeros, and a tile's blocks for each thread if pixels are read in blocks.
  TileReader(const Convolution& convolution, const Region& region, Pass pass, std::int64_t threads, Scratch& scratch)
      : tiles_(convolution.correlation(pass), region),
        rule_(region.rule),
        blocks_(convolution.blocks()),
        in_blocks_(blocks_.stride > 1),
        width_(std::max(convolution.channels(), convolution.filters())),
        zeros_(scratch.reserve(width_)),
        block_floats_(rule_.positions() * round_up(blocks_.channels(), kLineFloats)),
        buffers_(in_blocks_ ? scratch.reserve(threads * block_floats_) : 0) {}

  // Call once before the first tile is read.
  void prepare(float* scratch) const { std::fill_n(scratch + zeros_, width_, 0.0f); }

  // Zeros for every channel and filter.
  template <class Pixel>
  const Pixel* zeros(const float* scratch) const {
    return reinterpret_cast<const Pixel*>(scratch + zeros_);
  }

  // The height x width pixels that tile t reads, of f32 or bf16; gathered ones are valid until the thread's next call.
  template <class Pixel>
  void read(std::int64_t t, int thread, const Pixel* in, float* scratch, const Pixel** pixels) const {
    if (!in_blocks_) {
      tiles_.inputs(t, in, zeros<Pixel>(scratch), pixels);
      return;
    }
    Pixel* const buffer = reinterpret_cast<Pixel*>(scratch + buffers_ + thread * block_floats_);
    const Tiles::Corner corner = tiles_.corner(t);
    blocks_.gather(in, corner.image, corner.y, corner.x, rule_.height(), rule_.width(), buffer);
    for (int i = 0; i < rule_.positions(); ++i) pixels[i] = buffer + i * blocks_.channels();
  }

 private:
  Tiles tiles_;
  Rule rule_;
  Blocks blocks_;
  bool in_blocks_;
  std::int64_t width_;
  std::int64_t zeros_;
  std::int64_t block_floats_;
  std::int64_t buffers_;
};

}  // namespace ridgeline::device::winograd
