// ridgeline/graph/op/window.h
//
// The geometry of sliding windows over the two image axes, shared by convolution and pooling. Index 0 is the vertical
// axis, 1 the horizontal one. A plain value.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

struct Window {
  std::array<std::int64_t, 2> kernel{};
  std::array<std::int64_t, 2> stride{1, 1};
  std::array<std::int64_t, 2> pad_before{};  // top, left
  std::array<std::int64_t, 2> pad_after{};   // bottom, right
  std::array<std::int64_t, 2> dilation{1, 1};

  // Pixels that the kernel spans along an axis, dilation included.
  std::int64_t span(int axis) const {
    const auto a = static_cast<std::size_t>(axis);
    return dilation[a] * (kernel[a] - 1) + 1;
  }
  // floor((size + pads - span) / stride) + 1; not positive when the kernel does not fit.
  std::int64_t output_size(int axis, std::int64_t size) const {
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t room = size + pad_before[a] + pad_after[a] - span(axis);
    return room < 0 ? 0 : room / stride[a] + 1;
  }
  // Input position of kernel element `k` at output position `out`; may be in the padding.
  std::int64_t input_position(int axis, std::int64_t out, std::int64_t k) const {
    const auto a = static_cast<std::size_t>(axis);
    return out * stride[a] - pad_before[a] + k * dilation[a];
  }
};

// Reads stride, pad (top, bottom, left, right), and dilation where the op has it, and checks their ranges.
Window window_of(std::string_view op, const Attributes& attributes, std::int64_t kernel_height,
                 std::int64_t kernel_width);
// Output height and width over an image [N,H,W,C]; an Error when the window does not fit.
std::array<std::int64_t, 2> output_sizes(std::string_view op, const Window& window, const Shape& image);

}  // namespace ridgeline
