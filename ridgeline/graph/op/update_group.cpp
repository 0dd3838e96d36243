#include "ridgeline/graph/op/update_group.h"

#include "ridgeline/graph/loop/text.h"
#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using namespace rules;

// The expression as a loop over one parameter gives its states' next values: elements of f32, no sums.
void expect_states(const OpInstance& op, const UpdateGroup& group) {
  std::vector<ValueType> operands;
  for (std::size_t i : group.operands_of(0)) operands.push_back(op.inputs[i]);
  const std::string& expression = op.attributes.string("expression");
  for (const ValueType& type : infer_types(op_def("loop"), operands, {{"expression", expression}}, op.name)) {
    if (type == operands[0]) continue;
    fail("update_group", "the expression '" + expression + "' gives " + type.to_string() +
                             " where the next value of a state, " + operands[0].to_string() + ", is meant");
  }
}

std::vector<ValueType> infer(const OpInstance& op) {
  const UpdateGroup group(op.attributes, op.inputs.size());
  std::vector<ValueType> results;
  for (std::size_t p = 0; p < group.parameters; ++p) {
    const std::vector<std::size_t> operands = group.operands_of(p);
    const ValueType& type = op.inputs[operands[0]];
    expect_dtype("update_group", "a parameter", type, DType::f32);
    for (std::size_t i = 1; i <= group.states; ++i) {  // the other states and the gradient
      if (op.inputs[operands[i]] == type) continue;
      fail("update_group", "operand " + std::to_string(operands[i]) + " is " + op.inputs[operands[i]].to_string() +
                               ", the parameter " + type.to_string() + ": they must be alike");
    }
    for (std::size_t s = 0; s < group.states; ++s) results.push_back(type);
  }
  for (std::size_t i = op.inputs.size() - group.shared; i < op.inputs.size(); ++i) {
    if (op.inputs[i].shape.rank() != 0) fail("update_group", "operand " + std::to_string(i) + " must be a scalar");
  }
  expect_states(op, group);
  return results;
}

void reference(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const UpdateGroup group(op.attributes, inputs.size());
  const Attributes expression{{"expression", op.attributes.string("expression")}};
  for (std::size_t p = 0; p < group.parameters; ++p) {
    std::vector<Tensor> operands;
    for (std::size_t i : group.operands_of(p)) operands.push_back(inputs[i]);
    const std::vector<Tensor> next = run_reference(op_def("loop"), operands, expression, op.name);
    for (std::size_t s = 0; s < group.states; ++s) {
      Tensor& result = outputs[p * group.states + s];
      for (std::int64_t i = 0; i < result.elements(); ++i) result.set(i, next[s].at(i));
    }
  }
}

}  // namespace

UpdateGroup::UpdateGroup(const Attributes& attributes, std::size_t operands) {
  const loop::Expression expression = loop::parse(attributes.string("expression"));
  states = expression.results.size();
  const auto read = static_cast<std::size_t>(expression.operands);
  if (read < states + 1 || operands < read) {
    fail("update_group", "the expression gives " + std::to_string(states) + " results of " + std::to_string(read) +
                             " operands; states, a gradient and what all share are meant");
  }
  shared = read - states - 1;
  parameters = (operands - shared) / (states + 1);
  if (operands != shared + parameters * (states + 1)) {
    fail("update_group", std::to_string(operands) + " operands are no whole number of parameters with " +
                             std::to_string(states) + " states and a gradient each, and " + std::to_string(shared) +
                             " operands that all share");
  }
}

std::vector<std::size_t> UpdateGroup::operands_of(std::size_t p) const {
  std::vector<std::size_t> operands;
  for (std::size_t s = 0; s < states; ++s) operands.push_back(p * states + s);
  operands.push_back(parameters * states + p);
  for (std::size_t i = 0; i < shared; ++i) operands.push_back(parameters * (states + 1) + i);
  return operands;
}

OpDef update_group_op() {
  OpDef def;
  def.name = "update_group";
  def.formula =
      "for each parameter p: its next states = expression(states of p, gradient of p, shared...), element by element, "
      "in f32; the operands are all states, then all gradients, then what they share";
  def.operands = {"operand"};
  def.min_operands = 1;
  def.max_operands = -1;
  def.results = {"next"};
  def.attributes = {required("expression", std::string("x0 - x2 * x1"), "a loop expression: see graph/loop/text.h")};
  def.traits = kUpdate;
  def.infer = infer;
  def.reference = reference;
  def.cost = [](const OpInstance& op, std::span<const ValueType> results) {
    const loop::Expression expression = loop::parse(op.attributes.string("expression"));
    double elements = 0;
    for (const ValueType& type : results) elements += static_cast<double>(type.shape.elements());
    const double each = static_cast<double>(expression.terms.size()) / static_cast<double>(expression.results.size());
    return Cost{each * elements, bytes_moved(op, results)};
  };
  return def;
}

}  // namespace ridgeline
