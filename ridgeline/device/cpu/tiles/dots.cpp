#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/tiles/kernels.h"

namespace ridgeline::device {
namespace {

KernelChoice on_dots(const KernelRequest& request, KernelChoice (*make)(const KernelRequest&, tiles::Tiles)) {
  if (active_isa() == Isa::amx) return Refusal{"tiles multiply faster than dot products"};
  if (!fast_bf16_dots())
    return Refusal{"no bf16 dot products, or slower ones than f32's, under the instruction set in force"};
  return make(request, tiles::Tiles::dots);
}

}  // namespace

KernelChoice make_dots_conv2d(const KernelRequest& request) { return on_dots(request, tiles::make_forward); }
KernelChoice make_dots_conv2d_max_pool(const KernelRequest& request) {
  return on_dots(request, tiles::make_pooled_forward);
}
KernelChoice make_dots_conv2d_bwd_data(const KernelRequest& request) {
  return on_dots(request, tiles::make_backward_data);
}
KernelChoice make_dots_conv2d_bwd_weights(const KernelRequest& request) {
  return on_dots(request, tiles::make_backward_weights);
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
