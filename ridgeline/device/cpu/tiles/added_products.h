// ridgeline/device/cpu/tiles/added_products.h
//
// Products of few steps whose sums are added to sums in memory. Loading these sums into tiles and storing them would
// cost half as much as the products, since a tile's first product waits for its sums. Here tiles start from zero; their
// sums go to a buffer in the first-level cache, from where the vector units add them to memory while the next product
// runs. Owned by one thread.
#pragma once

#include "ridgeline/device/cpu/tiles/tiles.h"

namespace ridgeline::device::tiles {

class AddedProducts {
 public:
  explicit AddedProducts(const TileCode& code) : code_(code) {}

  // The sums of a product of `rows` by `columns` tiles are added to the 2 x 2 tiles at `onto`, or stored there, by the
  // next product or by finish(). Sums of tiles that are not multiplied become undefined.
  void multiply(TileProduct product, std::size_t rows, std::size_t columns, float* onto, bool add) {
    product.c = sums_[now_];
    product.earlier = onto_ == nullptr ? nullptr : sums_[1 - now_];
    product.onto = onto_;
    product.add_earlier = add_;
    product.soon = onto;
    code_.multiply[rows - 1][columns - 1](product);
    onto_ = onto;
    add_ = add;
    now_ = 1 - now_;
  }

  void finish() {
    if (onto_ != nullptr) code_.add_tiles(sums_[1 - now_], onto_, add_);
    onto_ = nullptr;
  }

 private:
  const TileCode& code_;
  alignas(64) float sums_[2][4 * kTileSums] = {};
  int now_ = 0;
  float* onto_ = nullptr;  // of the last product
  bool add_ = false;
};

}  // namespace ridgeline::device::tiles
