// ridgeline/device/cpu/value_kernel.h
//
// Kernels that are templates over the type of their values, f32 or bf16.
#pragma once

#include <memory>
#include <utility>

#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

// Maker<Value>(arguments...) for values of `type`: bf16, else f32.
template <template <class> class Maker, class... Arguments>
std::unique_ptr<Kernel> value_kernel(DType type, Arguments&&... arguments) {
  if (type == DType::bf16) return std::make_unique<Maker<bfloat16>>(std::forward<Arguments>(arguments)...);
  return std::make_unique<Maker<float>>(std::forward<Arguments>(arguments)...);
}

}  // namespace ridgeline::device
