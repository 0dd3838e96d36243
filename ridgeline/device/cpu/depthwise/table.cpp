#include "ridgeline/device/cpu/entry.h"
#include "ridgeline/device/cpu/families.h"

namespace ridgeline::device {
namespace depthwise {

KernelFactory make_forward, make_backward_data, make_backward_weights;
KernelShare backward_weights_share;

namespace {

constexpr KernelEntry kTable[] = {
    own_entry("conv2d", "depthwise", make_forward, {.speed = speeds::kDepthwise}),
    own_entry("conv2d_bwd_data", "depthwise", make_backward_data, {.speed = speeds::kDepthwise}),
    own_entry("conv2d_bwd_weights", "depthwise", make_backward_weights,
              {.speed = speeds::kDepthwiseWeights, .share = backward_weights_share}),
};

}  // namespace
}  // namespace depthwise

std::span<const KernelEntry> depthwise_kernels() { return depthwise::kTable; }

}  // namespace ridgeline::device
