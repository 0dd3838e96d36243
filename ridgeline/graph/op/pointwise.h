// ridgeline/graph/op/pointwise.h
//
// Ops that compute each element from the elements at the same place: arithmetic, relu, select, cast, dropout,
// and `loop`, a fused group of them; the updates of optimizers (update.h) are such ops, too. Such an op is its loop
// expression: reference, kernels, fusion and the formula in the docs follow from it. Operands broadcast as in NumPy.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/graph/ir/dtype_set.h"
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/loop/evaluate.h"

namespace ridgeline {

std::vector<OpDef> pointwise_ops();

// The definition of such an op, for files that define several: call this first, then set what is particular to the op
// (formula, type rule), and last what follows from the expression (reference, cost, arithmetic).
OpDef pointwise_op(std::string name, std::vector<std::string> operands,
                   std::function<loop::Expression(const Attributes&)> expression);
void finish_pointwise(OpDef& def);
// Error "[<op>] ..." unless the type is one of `types`; `what` names the operand.
void expect_types(const std::string& op, const std::string& what, const ValueType& type, DTypeSet types);

// The common shape of operands that broadcast as in NumPy; Error "[<op>] ..." when they do not.
Shape broadcast_shape(std::string_view op, std::span<const ValueType> inputs);

// True if the expression reads operand `index` only as the step of random numbers.
bool only_a_step(const loop::Expression& expression, int index);

}  // namespace ridgeline
