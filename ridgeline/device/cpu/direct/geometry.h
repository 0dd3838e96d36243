// ridgeline/device/cpu/direct/geometry.h
//
// A convolution as the direct kernels see it. A plain value.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ridgeline/device/kernel.h"
#include "ridgeline/graph/op/window.h"

namespace ridgeline::device::direct {

// x [n,h,w,c], weights [k,r,s,c/groups], y [n,oh,ow,k].
struct Geometry {
  std::int64_t n = 1, h = 1, w = 1, c = 0;
  std::int64_t oh = 1, ow = 1, k = 0;
  Window window{.kernel = {1, 1}};
  std::int64_t groups = 1;

  std::int64_t r() const { return window.kernel[0]; }
  std::int64_t s() const { return window.kernel[1]; }
  std::int64_t group_channels() const { return c / groups; }
  std::int64_t group_filters() const { return k / groups; }
  // Weights of one filter.
  std::int64_t filter() const { return r() * s() * group_channels(); }
  std::int64_t pixels() const { return n * oh * ow; }

  static Geometry of_convolution(const KernelRequest& request, const Shape& image, const Shape& weights,
                                 const Shape& result);
};

// The positions along a row of the result (first, count) for which `position * stride + shift` lies in [low, high).
struct Run {
  std::int64_t first = 0;
  std::int64_t count = 0;
  static Run of(std::int64_t limit, std::int64_t stride, std::int64_t shift, std::int64_t low, std::int64_t high) {
    const auto up = [&](std::int64_t x) { return x <= 0 ? 0 : (x + stride - 1) / stride; };
    const std::int64_t first = std::min(limit, up(low - shift));
    return {first, std::max<std::int64_t>(0, std::min(limit, up(high - shift)) - first)};
  }
};

}  // namespace ridgeline::device::direct
