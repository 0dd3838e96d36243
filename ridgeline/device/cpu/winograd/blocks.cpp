#include "ridgeline/device/cpu/winograd/blocks.h"

#include <algorithm>
#include <cstring>

namespace ridgeline::device::winograd {
namespace {

// A block's row is short, 12 values for AlexNet: a call of memcpy would cost more than the copy.
template <class Value>
void copy(const Value* from, std::int64_t n, Value* to) {
  for (; n >= 4; n -= 4, from += 4, to += 4) std::memcpy(to, from, 4 * sizeof(Value));
  for (; n > 0; --n) *to++ = *from++;
}

// f(blocked index, plain index, values) for the runs of the weights that are contiguous in both layouts.
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

template <class Pixel>
void Blocks::gather(const Pixel* pixels, std::int64_t number, std::int64_t y, std::int64_t x, int height, int width,
                    Pixel* to) const {
  const std::int64_t row_values = stride * image.channels;  // of a block
  constexpr std::int64_t line = 64 / sizeof(Pixel);
  const std::int64_t first = x * stride - left;
  const bool whole = first >= 0 && first + width * stride <= image.width;
  for (std::int64_t i = 0; i < height * stride; ++i) {
    const std::int64_t h = y * stride - top + i;
    Pixel* const row = to + i / stride * width * channels() + i % stride * row_values;
    const Pixel* const from = pixels + ((number * image.height + h) * image.width + first) * image.channels;
    const bool exists = h >= 0 && h < image.height;
    // The tile on the right is read next, in more rows than the hardware prefetches.
    const Pixel* const behind = from + width * row_values;
    for (std::int64_t v = 0; v < width * row_values; v += line) __builtin_prefetch(behind + v, 0, 2);
    for (std::int64_t j = 0; j < width; ++j) {
      Pixel* const block = row + j * channels();
      if (exists && whole) {
        copy(from + j * row_values, row_values, block);
        continue;
      }
      for (std::int64_t p = 0; p < stride; ++p) {
        const std::int64_t w = first + j * stride + p;
        if (exists && w >= 0 && w < image.width) {
          copy(from + (j * stride + p) * image.channels, image.channels, block + p * image.channels);
        } else {
          std::fill_n(block + p * image.channels, image.channels, Pixel{});
        }
      }
    }
  }
}

template <class Weight>
void Blocks::to_blocks(const Weight* weights, std::int64_t filters, Weight* blocked) const {
  std::fill_n(blocked, filters * wide() * wide() * channels(), Weight{});
  for_each_run(*this, filters, [&](std::int64_t in_blocks, std::int64_t plain, std::int64_t values) {
    copy(weights + plain, values, blocked + in_blocks);
  });
}

void Blocks::from_blocks(const float* blocked, std::int64_t filters, float* weights) const {
  for_each_run(*this, filters, [&](std::int64_t in_blocks, std::int64_t plain, std::int64_t floats) {
    copy(blocked + in_blocks, floats, weights + plain);
  });
}

template void Blocks::gather(const float*, std::int64_t, std::int64_t, std::int64_t, int, int, float*) const;
template void Blocks::gather(const bfloat16*, std::int64_t, std::int64_t, std::int64_t, int, int, bfloat16*) const;
template void Blocks::to_blocks(const float*, std::int64_t, float*) const;
template void Blocks::to_blocks(const bfloat16*, std::int64_t, bfloat16*) const;

}  // namespace ridgeline::device::winograd
