// ridgeline/device/cpu/depthwise/layer.h
//
// A depthwise convolution: as many groups as channels, one filter each. Makes the lines that code.h computes.
#pragma once

#include <variant>

#include "ridgeline/device/cpu/depthwise/code.h"
#include "ridgeline/device/kernel.h"
#include "ridgeline/graph/op/window.h"

namespace ridgeline::device::depthwise {

// x [n,h,w,c], weights [c,r,s,1], y [n,oh,ow,c].
struct Layer {
  std::int64_t n = 1, h = 1, w = 1, c = 0;
  std::int64_t oh = 1, ow = 1;
  Window window{};

  std::int64_t taps() const { return window.kernel[0] * window.kernel[1]; }
  std::int64_t blocks() const { return (c + kBlock - 1) / kBlock; }

  // What the taps of row `row` of y (counted through all images) read of x, from channel `first` on.
  void taps_of_result(std::int64_t row, const float* x, std::int64_t first, Line& line) const;
  // What the taps of the pixels j = column + q * stride of row `row` of x (through all images) read of dy.
  void taps_of_image(std::int64_t row, std::int64_t column, const float* dy, std::int64_t first, Line& line) const;
};

// A Refusal of everything that is no such convolution.
std::variant<Layer, Refusal> layer_of(const KernelRequest& request, const ValueType& x, const ValueType& w,
                                      const ValueType& y);

}  // namespace ridgeline::device::depthwise
