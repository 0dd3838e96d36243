#include <algorithm>

#include "ridgeline/device/cpu/entry.h"
#include "ridgeline/device/cpu/families.h"
#include "ridgeline/device/cpu/winograd/convolution.h"

namespace ridgeline::device {
namespace winograd {
namespace {

// The fastest rule.
template <WishedKernel* kMake>
KernelChoice where_faster(const KernelRequest& request) {
  return kMake(request, {});
}

// Or, where a direct convolution is faster, in f32 only, the best rule. bf16 then goes to f32 kernels between
// conversions.
template <WishedKernel* kMake>
KernelChoice wherever_it_can(const KernelRequest& request) {
  KernelChoice choice = kMake(request, {});
  const auto wide = [](const KernelOperand& operand) { return operand.type.dtype == DType::f32; };
  if (!std::holds_alternative<Refusal>(choice) || !std::all_of(request.inputs.begin(), request.inputs.end(), wide) ||
      !std::all_of(request.outputs.begin(), request.outputs.end(), wide)) {
    return choice;
  }
  return kMake(request, {.only_where_faster = false});
}

template <WishedTask* kTask>
double share(const KernelRequest& request) {
  return std::holds_alternative<Task>(kTask(request, {})) ? 1 : speeds::kWinograd.elsewhere;
}

// Fewer multiplications, larger rounding errors. The choice of a rule depends on the vectors' length.
constexpr KernelEntry entry(std::string_view op, KernelFactory* factory, KernelShare* share = nullptr) {
  return own_entry(op, "winograd", factory,
                   {.storage = kFloatOrHalf,
                    .speed = speeds::kWinograd,
                    .share = share,
                    .promise = {Reproducibility::deterministic, false}});
}

constexpr KernelEntry kTable[] = {
    entry("conv2d", wherever_it_can<make_forward>, share<forward_task>),
    // For batches that give each thread several images.
    entry("conv2d_max_pool", where_faster<make_pooled_forward>),
    entry("conv2d_bwd_data", wherever_it_can<make_backward_data>, share<backward_data_task>),
    entry("conv2d_bwd_weights", wherever_it_can<make_backward_weights>, share<backward_weights_task>),
};

}  // namespace
}  // namespace winograd

std::span<const KernelEntry> winograd_kernels() { return winograd::kTable; }

}  // namespace ridgeline::device
