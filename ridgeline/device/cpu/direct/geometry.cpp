#include "ridgeline/device/cpu/direct/geometry.h"

namespace ridgeline::device::direct {

Geometry Geometry::of_convolution(const KernelRequest& request, const Shape& image, const Shape& weights,
                                  const Shape& result) {
  Geometry g;
  g.n = image[0], g.h = image[1], g.w = image[2], g.c = image[3];
  g.oh = result[1], g.ow = result[2], g.k = result[3];
  g.groups = request.node.attributes.integer("groups");
  g.window = window_of(request.def.name, request.node.attributes, weights[1], weights[2]);
  const Window& v = g.window;
  const bool pads = v.pad_before[0] + v.pad_before[1] + v.pad_after[0] + v.pad_after[1] > 0;
  if (g.r() != 1 || g.s() != 1 || v.stride[0] != 1 || v.stride[1] != 1 || pads) return g;
  // Each pixel by itself: one row of them.
  g.w = g.ow = g.pixels();
  g.n = g.h = g.oh = 1;
  return g;
}

}  // namespace ridgeline::device::direct
