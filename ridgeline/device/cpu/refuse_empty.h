// ridgeline/device/cpu/refuse_empty.h
//
// The refusal of kernels that cannot handle an operand or result without elements.
#pragma once

#include <optional>

#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

inline std::optional<Refusal> refuse_empty(const ValueType& type) {
  if (type.shape.elements() == 0) return Refusal{"an operand or result is empty"};
  return std::nullopt;
}

inline std::optional<Refusal> refuse_empty(const KernelRequest& request) {
  for (const auto* operands : {&request.inputs, &request.outputs}) {
    for (const KernelOperand& operand : *operands) {
      if (auto refusal = refuse_empty(operand.type)) return refusal;
    }
  }
  return std::nullopt;
}

}  // namespace ridgeline::device
