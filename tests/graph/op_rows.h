// tests/graph/op_rows.h
//
// The op test table: for every op, cases with operands, attributes and result shapes computed by hand. A new op needs a
// row here: op_table_test.cpp fails without one.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/core/tensor.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline::test {

enum class Fill {
  uniform,    // floating, in (-1, 1)
  positive,   // floating, in (0.5, 2)
  off_zero,   // floating, |x| in (0.2, 1)
  spread,     // floating, no two elements closer than 0.05
  integers,   // of the operand's type, in [0, limit)
  half_mask,  // floating, alternately 1 and 0
};

struct OperandSpec {
  Shape shape;
  Fill fill = Fill::uniform;
  DType dtype = DType::f64;  // of Fill::integers; floating operands are tested in f32 and f64
  std::int64_t limit = 2;
};

enum class Gradient {
  checked,  // compared with finite differences
  refused,  // differentiate() throws
  none,     // no gradient
};

struct OpRow {
  std::string op;
  std::vector<OperandSpec> operands;
  Attributes attributes;
  std::vector<Shape> results;
  Gradient gradient = Gradient::checked;
  std::vector<int> through = {0};  // results that enter the loss
  bool f32_only = false;
};

// Deterministic values for an operand; `salt` distinguishes operands.
Tensor make_operand(const OperandSpec& spec, DType floating, std::uint64_t salt);

const std::vector<OpRow>& op_rows();

}  // namespace ridgeline::test
