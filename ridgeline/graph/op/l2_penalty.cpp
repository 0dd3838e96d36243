#include "ridgeline/graph/op/l2_penalty.h"

#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using namespace rules;

std::vector<ValueType> infer_l2_penalty(const OpInstance& op) {
  expect_one_floating_dtype("l2_penalty", op.inputs);
  for (const ValueType& type : op.inputs) expect_floating("l2_penalty", "every operand", type);
  return {{op.inputs[0].dtype, {}}};
}

void reference_l2_penalty(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  double total = 0;
  for (const Tensor& parameter : inputs) {
    double sum = 0;
    for (double v : widen(parameter)) sum += v * v;
    total += sum;
  }
  outputs[0].set(0, op.attributes.real("factor") * total / 2);
}

}  // namespace

OpDef l2_penalty_op() {
  OpDef def;
  def.name = "l2_penalty";
  def.formula = "penalty [] = factor * sum over the operands of sum(p^2) / 2";
  def.operands = {"p"};
  def.min_operands = 1;
  def.max_operands = -1;
  def.results = {"penalty"};
  def.attributes = {required("factor", 1e-4, "the weight of the penalty")};
  def.infer = infer_l2_penalty;
  def.reference = reference_l2_penalty;
  def.cost = [](const OpInstance& op, std::span<const ValueType> results) {
    double elements = 0;
    for (const ValueType& type : op.inputs) elements += static_cast<double>(type.shape.elements());
    return Cost{2 * elements, bytes_moved(op, results)};
  };
  return def;
}

}  // namespace ridgeline
