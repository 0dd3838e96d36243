#include "ridgeline/device/kernel.h"

namespace ridgeline {
namespace {

std::vector<ValueType> types_of(const std::vector<KernelOperand>& operands) {
  std::vector<ValueType> types;
  for (const KernelOperand& operand : operands) types.push_back(operand.type);
  return types;
}

}  // namespace

std::string_view name_of(Provider provider) {
  switch (provider) {
    case Provider::own: return "own";
    case Provider::library: return "library";
    case Provider::reference: return "reference";
  }
  return "";
}

KernelChoice KernelEntry::make(const KernelRequest& request) const {
  for (const std::vector<KernelOperand>* operands : {&request.inputs, &request.outputs}) {
    for (const KernelOperand& operand : *operands) {
      const DType dtype = operand.type.dtype;
      if (is_floating(dtype) && !storage.contains(dtype)) {
        return Refusal{std::string(ridgeline::name_of(dtype)) + " operand: this kernel takes " + storage.to_string()};
      }
    }
  }
  const std::vector<ValueType> inputs = types_of(request.inputs);
  const Arithmetic wanted =
      arithmetic_of(request.def, {inputs, request.node.attributes, request.node.name}, types_of(request.outputs));
  if (wanted == Arithmetic::f64 && arithmetic == Arithmetic::f32) {
    return Refusal{"the op computes in f64 on these types, this kernel in f32"};
  }
  return factory(request);
}

}  // namespace ridgeline
