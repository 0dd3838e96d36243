#include "ridgeline/device/cpu/own_common.h"

#include "ridgeline/device/cpu/isa.h"

namespace ridgeline::device {

std::optional<Refusal> refuse_unless_f32(const KernelRequest& request) {
  for (const std::vector<KernelOperand>* operands : {&request.inputs, &request.outputs}) {
    for (const KernelOperand& operand : *operands) {
      const DType dtype = operand.type.dtype;
      if (is_floating(dtype) && dtype != DType::f32) {
        return Refusal{std::string(name_of(dtype)) + " operand: this kernel takes f32"};
      }
    }
  }
  return std::nullopt;
}

std::string own_name(std::string_view op) {
  return "own " + std::string(op) + (active_isa() == Isa::avx2 ? " avx2" : " avx3");
}

}  // namespace ridgeline::device
