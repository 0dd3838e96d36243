// ridgeline/device/cpu/pixels/parts.h
//
// Describes the forward pass and the gradient of the image by the same kind of sums: each pixel of a result sees some
// pixels of the operand, times weights. The forward pass has one such group of pixels. The gradient of an image has a
// group for each position relative to the stride: pixels of a group see the same taps, and neighbours see neighbours.
// Plain values.
#pragma once

#include <vector>

#include "ridgeline/device/cpu/pixels/pixels.h"

namespace ridgeline::device::pixels {

struct Part {
  Pixels seen;                     // from the operand [n, h, w, c] to this group's pixels [n, oh, ow, k]
  std::vector<std::int64_t> taps;  // of the weights, r * S + s, in the order in which a pixel sees them
  std::array<std::int64_t, 2> first{}, step{1, 1};  // where the group's pixels are in the result

  // The pixel of a result [n, height, width] that is `pixel` of the group.
  std::int64_t place(std::int64_t pixel, std::int64_t height, std::int64_t width) const {
    const std::int64_t row = pixel / seen.ow;
    return (row / seen.oh * height + first[0] + row % seen.oh * step[0]) * width + first[1] + pixel % seen.ow * step[1];
  }
};

Part forward_part(const Pixels& p);
// With strides, dilation is not supported.
std::vector<Part> gradient_parts(const Pixels& p);

}  // namespace ridgeline::device::pixels
