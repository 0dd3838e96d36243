#include "ridgeline/device/cpu/dense/dense.h"

#include "ridgeline/device/cpu/refuse_empty.h"

namespace ridgeline::device::dense {

std::optional<Refusal> Dense::refusal(const KernelRequest& request, std::initializer_list<const KernelOperand*> w,
                                      std::initializer_list<const KernelOperand*> values) const {
  if (auto refusal = refuse_empty(request)) return refusal;
  for (const KernelOperand* operand : w) {
    if (!operand->free && !operand->layout.plain()) return Refusal{"weights lie in " + operand->layout.name()};
  }
  const DType type = (*values.begin())->type.dtype;
  for (const KernelOperand* operand : values) {
    if (operand->type.dtype != type) {
      return Refusal{std::string(name_of(operand->type.dtype)) + " beside " + std::string(name_of(type)) +
                     ": this kernel takes values of one type"};
    }
  }
  return std::nullopt;
}

}  // namespace ridgeline::device::dense
