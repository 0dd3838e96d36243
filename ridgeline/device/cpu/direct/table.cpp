#include "ridgeline/device/cpu/entry.h"
#include "ridgeline/device/cpu/families.h"

namespace ridgeline::device {
namespace direct {

KernelFactory make_forward, make_backward_data, make_backward_weights;

namespace {

constexpr KernelEntry entry(std::string_view op, KernelFactory* factory) {
  return own_entry(op, "direct", factory, {.speed = speeds::kDirect});
}

constexpr KernelEntry kTable[] = {
    entry("conv2d", make_forward),
    entry("conv2d_bwd_data", make_backward_data),
    entry("conv2d_bwd_weights", make_backward_weights),
};

}  // namespace
}  // namespace direct

std::span<const KernelEntry> direct_kernels() { return direct::kTable; }

}  // namespace ridgeline::device
