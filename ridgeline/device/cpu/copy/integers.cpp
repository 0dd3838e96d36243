#include <algorithm>

#include "ridgeline/device/cpu/common.h"

namespace ridgeline::device {

KernelChoice make_own_integer_constant(const KernelRequest& request) {
  const ValueType& result = request.outputs[0].type;
  if (result.dtype != DType::i64) return Refusal{"not of i64"};
  const auto value = static_cast<std::int64_t>(request.node.attributes.real("value"));
  return make_body_kernel("own integer constant",
                          [elements = result.shape.elements(), value](const KernelArguments& a) {
                            std::fill_n(output<std::int64_t>(a, 0), elements, value);
                          });
}

KernelChoice make_own_integer_add(const KernelRequest& request) {
  const ValueType& result = request.outputs[0].type;
  for (const KernelOperand& operand : request.inputs) {
    if (operand.type != result || result.dtype != DType::i64) return Refusal{"not two values of i64 and one shape"};
  }
  const std::int64_t elements = result.shape.elements();
  auto kernel = make_body_kernel("own integer add", [elements](const KernelArguments& a) {
    const auto *const x = input<std::int64_t>(a, 0), *const y = input<std::int64_t>(a, 1);
    // As the op's definition, in f64.
    for (std::int64_t i = 0; i < elements; ++i)
      output<std::int64_t>(a, 0)[i] = static_cast<std::int64_t>(static_cast<double>(x[i]) + static_cast<double>(y[i]));
  });
  kernel->in_place = {0};
  return kernel;
}

}  // namespace ridgeline::device
