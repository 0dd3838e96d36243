// ridgeline/device/cpu/pool/pool_geometry.h
//
// The geometry of sliding windows over NHWC images: pooling. Plain numbers, no ownership.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ridgeline/core/shape.h"
#include "ridgeline/graph/ir/attributes.h"

namespace ridgeline::device {

struct PoolGeometry {
  std::int64_t n = 0, h = 0, w = 0, c = 0;  // input
  std::int64_t oh = 0, ow = 0;              // output
  std::int64_t kh = 0, kw = 0;
  std::int64_t sh = 1, sw = 1;
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;

  // Of a pooling node: attributes kernel, stride, pad; `input` [N,H,W,C], `output` [N,OH,OW,C].
  static PoolGeometry of(const Attributes& attributes, const Shape& input, const Shape& output) {
    const auto& kernel = attributes.integers("kernel");
    const auto& stride = attributes.integers("stride");
    const auto& pad = attributes.integers("pad");
    return {input[0],  input[1],  input[2],  input[3], output[1], output[2], kernel[0],
            kernel[1], stride[0], stride[1], pad[0],   pad[1],    pad[2],    pad[3]};
  }
  // True if some window could be entirely in the padding.
  bool pad_reaches_kernel() const { return std::max(top, bottom) >= kh || std::max(left, right) >= kw; }
  // The first row of the image that windows from `window` on see.
  std::int64_t first_row(std::int64_t window) const { return std::clamp<std::int64_t>(window * sh - top, 0, h); }
  // One past the last row that windows before `window` see.
  std::int64_t end_row(std::int64_t window) const {
    return std::clamp<std::int64_t>((window - 1) * sh - top + kh, 0, h);
  }
};

// The taps [first, last) of a window at output position `o` that fall inside [0, size).
struct Taps {
  std::int64_t first, last, origin;  // tap t reads origin + t
  Taps(std::int64_t o, std::int64_t stride, std::int64_t pad, std::int64_t kernel, std::int64_t size)
      : origin(o * stride - pad) {
    first = std::max<std::int64_t>(0, -origin);
    last = std::min(kernel, size - origin);
  }
  std::int64_t count() const { return std::max<std::int64_t>(0, last - first); }
};

// The output positions [first, last) whose windows cover input position `i`.
struct Covering {
  std::int64_t first, last;
  Covering(std::int64_t i, std::int64_t stride, std::int64_t pad, std::int64_t kernel, std::int64_t outputs) {
    const std::int64_t lowest = i + pad - kernel + 1;
    first = lowest <= 0 ? 0 : (lowest + stride - 1) / stride;
    last = std::min(outputs, (i + pad) / stride + 1);
  }
};

// The windows that cover each column of the image.
inline std::vector<Covering> covering_columns(const PoolGeometry& p) {
  std::vector<Covering> columns;
  for (std::int64_t iw = 0; iw < p.w; ++iw) columns.emplace_back(iw, p.sw, p.left, p.kw, p.ow);
  return columns;
}

}  // namespace ridgeline::device
