// Runs a pointwise op or loop once with the loop kernel and once with its reference.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/core/tensor.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

// The instruction sets of this machine with loops of their own: the others run the code of one of these.
std::vector<Isa> loop_isas();

struct LoopRun {
  std::string refusal;  // empty: the kernel accepted the op
  std::vector<Tensor> results;
};

// Results of the kernel under the instruction set in force. in_place: results overwrite (copies of) their operands if
// the kernel allows that.
LoopRun run_kernel(const std::string& op, const std::vector<Tensor>& inputs, const Attributes& attributes,
                   bool in_place = false);
std::vector<Tensor> run_reference_of(const std::string& op, const std::vector<Tensor>& inputs,
                                     const Attributes& attributes);

// "" if equal bit by bit (NaN equals NaN), else the first difference.
std::string first_difference(const Tensor& got, const Tensor& expected);

// Values around zero, also exact zeros, infinities and NaN; u8, bool and i32 likewise.
Tensor mixed_tensor(DType dtype, const Shape& shape, unsigned seed, bool special = true);

}  // namespace ridgeline::device
