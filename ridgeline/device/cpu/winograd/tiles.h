// ridgeline/device/cpu/winograd/tiles.h
//
// A stride-1 convolution divided into tiles: which pixels of the two images belong to each tile. Plain values.
#pragma once

#include <cstdint>

#include "ridgeline/device/cpu/winograd/transforms.h"

namespace ridgeline::device::winograd {

// A stack of images [images, height, width, channels], row-major.
struct Images {
  std::int64_t count = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
};

// out[h, w] is the sum over r, s < taps of in[h + r - top, w + s - left] * w[r, s]; zeros outside of `in`.
struct Correlation {
  Images in;
  Images out;
  std::int64_t taps = 0;
  std::int64_t top = 0;  // may be negative
  std::int64_t left = 0;
};

// A rectangle of each result image that is divided into the tiles of one rule. The last tiles may reach over the
// image's edge.
struct Region {
  Rule rule;
  std::int64_t top = 0;  // the first result
  std::int64_t left = 0;
  std::int64_t down = 0;  // tiles of an image
  std::int64_t across = 0;

  std::int64_t tiles() const { return down * across; }
};

// The tiles of a region, of all images.
class Tiles {
 public:
  Tiles(const Correlation& shape, const Region& region) : shape_(shape), rule_(region.rule), region_(region) {}

  std::int64_t total() const { return shape_.out.count * region_.tiles(); }

  // The first output of tile t.
  struct Corner {
    std::int64_t image, y, x;
  };
  Corner corner(std::int64_t t) const {
    return {t / region_.tiles(), region_.top + t / region_.across % region_.down * rule_.m,
            region_.left + t % region_.across * rule_.n};
  }

  // Pointers to the height x width pixels of `in` that tile t reads; `outside` for those that do not exist.
  template <class Pixel>
  void inputs(std::int64_t t, Pixel* image, Pixel* outside, Pixel** pixels) const {
    const Corner at = corner(t);
    window(shape_.in, at.image, at.y - shape_.top, at.x - shape_.left, {rule_.height(), rule_.width()}, image, outside,
           pixels);
  }
  // Pointers to the m x n pixels of `out` that it computes.
  template <class Pixel>
  void outputs(std::int64_t t, Pixel* image, Pixel* outside, Pixel** pixels) const {
    const Corner at = corner(t);
    window(shape_.out, at.image, at.y, at.x, {rule_.m, rule_.n}, image, outside, pixels);
  }
  // The same if only the rows of `out` from `first_row` on exist, counted through all images, with `channels` channels.
  template <class Pixel>
  void outputs_of_rows(std::int64_t t, std::int64_t first_row, std::int64_t channels, Pixel* rows, Pixel* outside,
                       Pixel** pixels) const {
    const Corner at = corner(t);
    Images images = shape_.out;
    images.channels = channels;
    window(images, at.image, at.y, at.x, {rule_.m, rule_.n}, rows, outside, pixels, first_row);
  }

 private:
  struct Size {
    int height, width;
  };
  template <class Pixel>
  static void window(const Images& images, std::int64_t image, std::int64_t y, std::int64_t x, Size size, Pixel* base,
                     Pixel* outside, Pixel** pixels, std::int64_t first_row = 0) {
    for (int i = 0; i < size.height; ++i) {
      const bool row_exists = y + i >= 0 && y + i < images.height;
      const std::int64_t row = ((image * images.height + y + i - first_row) * images.width + x) * images.channels;
      for (int j = 0; j < size.width; ++j) {
        const bool exists = row_exists && x + j >= 0 && x + j < images.width;
        pixels[i * size.width + j] = exists ? base + row + j * images.channels : outside;
      }
    }
  }

  Correlation shape_;
  Rule rule_;
  Region region_;
};

constexpr int kMostPixels = 64;  // of a tile: at most 8 x 8

}  // namespace ridgeline::device::winograd
