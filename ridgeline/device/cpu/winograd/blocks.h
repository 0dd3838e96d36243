// ridgeline/device/cpu/winograd/blocks.h
//
// A strided convolution as one of stride 1: blocks of stride x stride pixels are pixels of stride^2 * C channels, and
// the filters, padded with zeros, become ceil(taps / stride) blocks wide. AlexNet's 11x11 of stride 4 over 3 channels
// is a 3x3 over 48. A plain value.
#pragma once

#include <cstdint>

#include "ridgeline/device/cpu/winograd/tiles.h"

namespace ridgeline::device::winograd {

struct Blocks {
  Images image;  // of pixels
  std::int64_t taps = 0;
  std::int64_t stride = 1;
  std::int64_t top = 0;
  std::int64_t left = 0;

  // Measured in blocks: the channels of one, and the filters' width.
  std::int64_t channels() const { return stride * stride * image.channels; }
  std::int64_t wide() const { return (taps + stride - 1) / stride; }

  // Gathers height x width blocks from block (y, x) of an image of f32 or bf16: to[i * width + j][channels()]. Block
  // (0, 0) starts at the first padded pixel; zeros outside of the image.
  template <class Pixel>
  void gather(const Pixel* pixels, std::int64_t image, std::int64_t y, std::int64_t x, int height, int width,
              Pixel* to) const;

  // Converts weights [K,taps,taps,C] of f32 or bf16 to [K,wide,wide,channels()], and gradients back.
  template <class Weight>
  void to_blocks(const Weight* weights, std::int64_t filters, Weight* blocked) const;
  void from_blocks(const float* blocked, std::int64_t filters, float* weights) const;
};

}  // namespace ridgeline::device::winograd
