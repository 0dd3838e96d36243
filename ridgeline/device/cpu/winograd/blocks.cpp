#include "ridgeline/device/cpu/winograd/blocks.h"

#include <algorithm>
#include <cstring>

namespace ridgeline::device::winograd {
namespace {

// A block's row is short, 12 floats for AlexNet: a call of memcpy would cost more than the copy.
inline void copy(const float* from, std::int64_t n, float* to) {
  for (; n >= 4; n -= 4, from += 4, to += 4) std::memcpy(to, from, 4 * sizeof(float));
  for (; n > 0; --n) *to++ = *from++;
}

// f(blocked index, plain index, floats) for the runs of the weights that are contiguous in both forms.
template <class Run>
void for_each_run(const Blocks& b, std::int64_t filters, const Run& run) {
  for (std::int64_t k = 0; k < filters; ++k) {
    for (std::int64_t r = 0; r < b.taps; ++r) {
      for (std::int64_t s = 0; s < b.taps; s += b.stride) {
        const std::int64_t block = (k * b.wide() + r / b.stride) * b.wide() + s / b.stride;
        run(block * b.channels() + r % b.stride * b.stride * b.image.channels,
            ((k * b.taps + r) * b.taps + s) * b.image.channels, std::min(b.stride, b.taps - s) * b.image.channels);
      }
    }
  }
}

}  // namespace

void Blocks::gather(const float* pixels, std::int64_t number, std::int64_t y, std::int64_t x, int side,
                    float* to) const {
  const std::int64_t row_floats = stride * image.channels;  // of a block
  const std::int64_t first = x * stride - left;
  const bool whole = first >= 0 && first + side * stride <= image.width;
  for (std::int64_t i = 0; i < side * stride; ++i) {
    const std::int64_t h = y * stride - top + i;
    float* const row = to + i / stride * side * channels() + i % stride * row_floats;
    const float* const from = pixels + ((number * image.height + h) * image.width + first) * image.channels;
    const bool exists = h >= 0 && h < image.height;
    for (std::int64_t j = 0; j < side; ++j) {
      float* const block = row + j * channels();
      if (exists && whole) {
        copy(from + j * row_floats, row_floats, block);
        continue;
      }
      for (std::int64_t p = 0; p < stride; ++p) {
        const std::int64_t w = first + j * stride + p;
        if (exists && w >= 0 && w < image.width) {
          copy(from + (j * stride + p) * image.channels, image.channels, block + p * image.channels);
        } else {
          std::fill_n(block + p * image.channels, image.channels, 0.0f);
        }
      }
    }
  }
}

void Blocks::to_blocks(const float* weights, std::int64_t filters, float* blocked) const {
  std::fill_n(blocked, filters * wide() * wide() * channels(), 0.0f);
  for_each_run(*this, filters, [&](std::int64_t in_blocks, std::int64_t plain, std::int64_t floats) {
    copy(weights + plain, floats, blocked + in_blocks);
  });
}

void Blocks::from_blocks(const float* blocked, std::int64_t filters, float* weights) const {
  for_each_run(*this, filters, [&](std::int64_t in_blocks, std::int64_t plain, std::int64_t floats) {
    copy(blocked + in_blocks, floats, weights + plain);
  });
}

}  // namespace ridgeline::device::winograd
