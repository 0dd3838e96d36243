#include "ridgeline/device/cpu/depthwise/layer.h"

#include <algorithm>

#include "ridgeline/device/cpu/refuse_empty.h"

namespace ridgeline::device::depthwise {
namespace {

void add_tap(Line& line, const float* pixels, std::int64_t shift, std::int64_t number) {
  line.taps[static_cast<std::size_t>(line.tap_count++)] = {pixels, shift, number};
}

}  // namespace

void Layer::taps_of_result(std::int64_t row, const float* x, std::int64_t first, Line& line) const {
  line.tap_count = 0;
  line.positions = ow;
  line.step = window.stride[1];
  line.length = w;
  line.image_channels = c;
  line.channels = std::min(kBlock, c - first);
  for (std::int64_t r = 0; r < window.kernel[0]; ++r) {
    const std::int64_t i = window.input_position(0, row % oh, r);
    if (i < 0 || i >= h) continue;
    const float* const pixels = x + (row / oh * h + i) * w * c + first;
    for (std::int64_t s = 0; s < window.kernel[1]; ++s)
      add_tap(line, pixels, window.input_position(1, 0, s), r * window.kernel[1] + s);
  }
}

void Layer::taps_of_image(std::int64_t row, std::int64_t column, const float* dy, std::int64_t first,
                          Line& line) const {
  line.tap_count = 0;
  line.positions = (w - column + window.stride[1] - 1) / window.stride[1];
  line.step = 1;
  line.length = ow;
  line.image_channels = c;
  line.channels = std::min(kBlock, c - first);
  for (std::int64_t r = 0; r < window.kernel[0]; ++r) {
    const std::int64_t below = row % h + window.pad_before[0] - r * window.dilation[0];
    const std::int64_t i = below / window.stride[0];
    if (below < 0 || below % window.stride[0] != 0 || i >= oh) continue;
    const float* const pixels = dy + (row / h * oh + i) * ow * c + first;
    for (std::int64_t s = 0; s < window.kernel[1]; ++s) {
      // Also where it is negative it must be a multiple of the stride, because q * stride is added to it.
      const std::int64_t behind = column - window.input_position(1, 0, s);
      if (behind % window.stride[1] == 0) add_tap(line, pixels, behind / window.stride[1], r * window.kernel[1] + s);
    }
  }
}

std::variant<Layer, Refusal> layer_of(const KernelRequest& request, const ValueType& x, const ValueType& w,
                                      const ValueType& y) {
  const std::int64_t channels = x.shape[3];
  if (request.node.attributes.integer("groups") != channels || y.shape[3] != channels)
    return Refusal{"groups of more than one channel or filter"};
  if (auto refusal = refuse_empty(request)) return *refusal;
  Layer layer;
  layer.n = x.shape[0], layer.h = x.shape[1], layer.w = x.shape[2], layer.c = channels;
  layer.oh = y.shape[1], layer.ow = y.shape[2];
  layer.window = window_of(request.def.name, request.node.attributes, w.shape[1], w.shape[2]);
  if (layer.taps() > kMostTaps) return Refusal{"filters of more than " + std::to_string(kMostTaps) + " taps"};
  return layer;
}

}  // namespace ridgeline::device::depthwise
