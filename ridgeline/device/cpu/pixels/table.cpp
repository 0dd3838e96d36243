#include "ridgeline/device/cpu/entry.h"
#include "ridgeline/device/cpu/families.h"

namespace ridgeline::device {
namespace pixels {

KernelFactory make_forward, make_backward_data, make_backward_weights;
KernelShare forward_share, backward_data_share, backward_weights_share;

namespace {

// In f32 channels and filters of the first two are multiples of 16.
constexpr KernelEntry entry(std::string_view op, KernelFactory* factory, KernelShare* share) {
  return own_entry(op, "pixels", factory, {.storage = kFloatOrHalf, .speed = speeds::kPixels, .share = share});
}

constexpr KernelEntry kTable[] = {
    entry("conv2d", make_forward, forward_share),
    entry("conv2d_bwd_data", make_backward_data, backward_data_share),
    entry("conv2d_bwd_weights", make_backward_weights, backward_weights_share),
    entry("dense", make_forward, forward_share),
    entry("dense_bwd_data", make_backward_data, backward_data_share),
    entry("dense_bwd_weights", make_backward_weights, backward_weights_share),
};

}  // namespace
}  // namespace pixels

std::span<const KernelEntry> pixel_kernels() { return pixels::kTable; }

}  // namespace ridgeline::device
