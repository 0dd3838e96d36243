#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/tiles/convolution.h"
#include "ridgeline/device/cpu/tiles/kernels.h"
#include "ridgeline/device/cpu/tiles/patches.h"

namespace ridgeline::device {
namespace {

KernelChoice on_dots(const KernelRequest& request, KernelChoice (*make)(const KernelRequest&, tiles::Tiles)) {
  if (active_isa() == Isa::amx) return Refusal{"tiles multiply faster than dot products"};
  if (!fast_bf16_dots())
    return Refusal{"no bf16 dot products, or slower ones than f32's, under the instruction set in force"};
  return make(request, tiles::Tiles::dots);
}

// Where the kernel library's dot products were faster on Zen 5 (docs/device-tiles.md, "Dot products"): it leaves out
// what would be multiplied by padding, and rows of an image need no zeros between them.

bool first_layer(const tiles::Convolution& c) { return tiles::Patches::wanted(c.group_channels()); }
bool strided(const tiles::Convolution& c) { return c.window.stride != tiles::Pair{1, 1}; }
std::int64_t results(const tiles::Convolution& c) { return c.result.size[0] * c.result.size[1]; }
// A first layer whose taps fill fewer steps than make up for bringing them together.
bool few_taps(const tiles::Convolution& c) { return first_layer(c) && c.taps() * c.group_channels() < 256; }

bool library_forward(const tiles::Convolution& c) { return !first_layer(c) || few_taps(c); }
// Most pixels of a strided 1x1 convolution's image have no gradient.
bool library_backward_data(const tiles::Convolution& c) { return !first_layer(c) && !(c.taps() == 1 && strided(c)); }
bool library_backward_weights(const tiles::Convolution& c) {
  // Strided over more channels than an image has, the library's takes 8 ms where ours takes 5, and 115 to 670 beside
  // other work: its threads wait for each other in the middle (resnet20's first stride, batch 32, two cores).
  if (first_layer(c)) return few_taps(c) && !(strided(c) && c.group_channels() > 4);
  return c.taps() > 1 && !strided(c) && results(c) <= 28 * 28;
}

// Whether that was measured for such convolutions.
bool known(const tiles::Convolution& c) { return c.groups == 1 && c.window.dilation == tiles::Pair{1, 1}; }

double share_of(const tiles::Convolution& c, bool (*library)(const tiles::Convolution&)) {
  constexpr double kElsewhere = 0.46;
  return known(c) && library(c) ? kElsewhere : 1;
}

}  // namespace

double dots_conv2d_share(const KernelRequest& request) {
  const auto &x = request.inputs[0].type, &w = request.inputs[1].type, &y = request.outputs[0].type;
  return share_of(tiles::convolution_of(request, x, w, y), library_forward);
}
double dots_conv2d_bwd_data_share(const KernelRequest& request) {
  const auto &dy = request.inputs[0].type, &w = request.inputs[1].type, &dx = request.outputs[0].type;
  return share_of(tiles::convolution_of(request, dx, w, dy), library_backward_data);
}
double dots_conv2d_bwd_weights_share(const KernelRequest& request) {
  const auto &x = request.inputs[0].type, &dy = request.inputs[1].type, &dw = request.outputs[0].type;
  return share_of(tiles::convolution_of(request, x, dw, dy), library_backward_weights);
}

KernelChoice make_dots_conv2d(const KernelRequest& request) { return on_dots(request, tiles::make_forward); }
KernelChoice make_dots_conv2d_bwd_data(const KernelRequest& request) {
  return on_dots(request, tiles::make_backward_data);
}
KernelChoice make_dots_conv2d_bwd_weights(const KernelRequest& request) {
  return on_dots(request, tiles::make_backward_weights);
}
KernelChoice make_dots_conv2d_max_pool(const KernelRequest& request) {
  return on_dots(request, tiles::make_pooled_forward);
}
KernelChoice make_dots_conv2d_max_pool_bwd_data(const KernelRequest& request) {
  return on_dots(request, tiles::make_pooled_backward_data);
}
KernelChoice make_dots_conv2d_max_pool_bwd_weights(const KernelRequest& request) {
  return on_dots(request, tiles::make_pooled_backward_weights);
}
KernelChoice make_dots_dense(const KernelRequest& request) { return on_dots(request, tiles::make_dense_forward); }
KernelChoice make_dots_dense_bwd_data(const KernelRequest& request) {
  return on_dots(request, tiles::make_dense_backward_data);
}
KernelChoice make_dots_dense_bwd_weights(const KernelRequest& request) {
  return on_dots(request, tiles::make_dense_backward_weights);
}
KernelChoice make_dots_dense_update(const KernelRequest& request) { return on_dots(request, tiles::make_dense_update); }

}  // namespace ridgeline::device
