// ridgeline/graph/op/pointwise.h
//
// Ops that compute each element from the elements at the same place: arithmetic, relu, select, cast, dropout, the
// updates of SGD, and `loop`, a fused group of them. Such an op is its loop expression: reference, kernels, fusion and
// the formula in the docs follow from it. Operands broadcast as in NumPy.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/loop/evaluate.h"

namespace ridgeline {

std::vector<OpDef> pointwise_ops();

// The common shape of operands that broadcast as in NumPy; Error "[<op>] ..." when they do not.
Shape broadcast_shape(std::string_view op, std::span<const ValueType> inputs);

// True when the expression reads operand `index` as the step of random numbers and nowhere else.
bool only_a_step(const loop::Expression& expression, int index);

}  // namespace ridgeline
