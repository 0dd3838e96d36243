// ridgeline/device/cpu/pixels/pixels.h
//
// A convolution of one group as products over pixels: rows of y or dy times the columns that a pixel sees of x. A dense
// layer over many rows is a 1x1 convolution of a line of as many pixels. Plain values; any thread may use them.
#pragma once

#include <array>
#include <optional>
#include <variant>

#include "ridgeline/device/cpu/value_kernel.h"
#include "ridgeline/device/kernel.h"
#include "ridgeline/graph/op/window.h"

namespace ridgeline::device::pixels {

constexpr std::int64_t parts_of(std::int64_t n, std::int64_t part) { return (n + part - 1) / part; }

// x [n, h, w, c], y [n, oh, ow, k].
struct Pixels {
  std::int64_t n = 0, h = 0, w = 0, c = 0;
  std::int64_t oh = 0, ow = 0, k = 0;
  Window window{.kernel = {1, 1}};
  DType type = DType::f32;

  std::int64_t count() const { return n * oh * ow; }     // of y
  std::int64_t floats() const { return n * h * w * c; }  // of x
  // How many values a pixel of y sees: [r, s, c].
  std::int64_t columns() const { return window.kernel[0] * window.kernel[1] * c; }
  // 1x1 without padding.
  bool single() const {
    constexpr std::array<std::int64_t, 2> kNone{};
    return window.kernel[0] * window.kernel[1] == 1 && window.pad_before == kNone && window.pad_after == kNone;
  }
  // Each pixel sees exactly the one at its own position.
  bool same() const { return single() && !strided() && h == oh && w == ow; }
  bool strided() const { return window.stride[0] != 1 || window.stride[1] != 1; }
};

// The node, a convolution or a dense layer, as a convolution of x, w and y, or why these kernels do not take it.
std::variant<Pixels, Refusal> pixels_of(const KernelRequest& request, const ValueType& x, const ValueType& w,
                                        const ValueType& y);

// KernelEntry::share: 1 for shapes where these are faster than the library's by measurement (docs/device-pixels.md).
double share_of(const std::variant<Pixels, Refusal>& node);

}  // namespace ridgeline::device::pixels
