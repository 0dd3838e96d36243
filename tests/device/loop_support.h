// Runs a pointwise op or loop once through the loop kernel and once through its reference.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/core/tensor.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

struct LoopRun {
  std::string refusal;  // empty: the kernel took the op
  std::vector<Tensor> results;
};

// Results of the kernel under the ISA in force. in_place: results take their operands' memory (of copies) where the
// kernel allows.
LoopRun run_kernel(const std::string& op, const std::vector<Tensor>& inputs, const Attributes& attributes,
                   bool in_place = false);
std::vector<Tensor> run_reference_of(const std::string& op, const std::vector<Tensor>& inputs,
                                     const Attributes& attributes);

// "" when equal bit by bit (NaN equals NaN), else the first difference.
std::string first_difference(const Tensor& got, const Tensor& expected);

// Values around zero with exact zeros, infinities and NaNs among them; u8, bool and i32 likewise mixed.
Tensor mixed_tensor(DType dtype, const Shape& shape, unsigned seed, bool special = true);

}  // namespace ridgeline::device
