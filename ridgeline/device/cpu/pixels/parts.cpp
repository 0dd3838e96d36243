#include "ridgeline/device/cpu/pixels/parts.h"

namespace ridgeline::device::pixels {
namespace {

// Of one axis: pixels first, first + stride, ... of the image see the taps tap, tap + stride, ..., the last one first.
struct Axis {
  std::int64_t first, count;  // pixels
  std::int64_t tap, taps;
  std::int64_t pad;  // input position of a pixel: its number - pad
};

Axis axis_of(const Window& v, std::size_t axis, std::int64_t size, std::int64_t tap) {
  const std::int64_t stride = v.stride[axis], pad = v.pad_before[axis];
  Axis a{};
  a.first = (tap - pad % stride + stride) % stride;
  a.count = a.first < size ? (size - a.first + stride - 1) / stride : 0;
  a.tap = tap;
  a.taps = tap < v.kernel[axis] ? (v.kernel[axis] - tap + stride - 1) / stride : 0;
  a.pad = (a.taps - 1) * v.dilation[axis] - (a.first + pad - tap) / stride;
  return a;
}

}  // namespace

Part forward_part(const Pixels& p) {
  Part part{.seen = p, .taps = {}};
  for (std::int64_t tap = 0; tap < p.window.kernel[0] * p.window.kernel[1]; ++tap) part.taps.push_back(tap);
  return part;
}

std::vector<Part> gradient_parts(const Pixels& p) {
  std::vector<Part> parts;
  const Window& v = p.window;
  for (std::int64_t r = 0; r < v.stride[0]; ++r) {
    for (std::int64_t s = 0; s < v.stride[1]; ++s) {
      const Axis y = axis_of(v, 0, p.h, r), x = axis_of(v, 1, p.w, s);
      if (y.count * x.count == 0) continue;
      Part part;
      part.seen = {.n = p.n, .h = p.oh, .w = p.ow, .c = p.k, .oh = y.count, .ow = x.count, .k = p.c, .type = p.type};
      part.seen.window = {.kernel = {y.taps, x.taps}, .pad_before = {y.pad, x.pad}, .dilation = v.dilation};
      part.first = {y.first, x.first};
      part.step = v.stride;
      for (std::int64_t i = y.taps; i-- > 0;) {
        for (std::int64_t j = x.taps; j-- > 0;)
          part.taps.push_back((r + i * v.stride[0]) * v.kernel[1] + s + j * v.stride[1]);
      }
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

}  // namespace ridgeline::device::pixels
