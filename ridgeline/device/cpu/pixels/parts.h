// ridgeline/device/cpu/pixels/parts.h
//
// The forward pass and the gradient of the image as the same sums: each pixel of a result sees some pixels of the
// operand, times weights. Forward that is one part. The gradient of an image has a part for each place between the
// strides: pixels of one part see the same taps, neighbours see neighbours. Plain values.
#pragma once

#include <vector>

#include "ridgeline/device/cpu/pixels/pixels.h"

namespace ridgeline::device::pixels {

struct Part {
  Pixels seen;                     // from the operand [n, h, w, c] to this part's pixels [n, oh, ow, k]
  std::vector<std::int64_t> taps;  // of the weights, r * S + s, in the order in which a pixel sees them
  std::array<std::int64_t, 2> first{}, step{1, 1};  // where the part's pixels lie in the result

  // Of a result [n, height, width]: the pixel that is the part's `pixel`.
  std::int64_t place(std::int64_t pixel, std::int64_t height, std::int64_t width) const {
    const std::int64_t row = pixel / seen.ow;
    return (row / seen.oh * height + first[0] + row % seen.oh * step[0]) * width + first[1] + pixel % seen.ow * step[1];
  }
};

Part forward_part(const Pixels& p);
// Without dilation where there are strides.
std::vector<Part> gradient_parts(const Pixels& p);

}  // namespace ridgeline::device::pixels
