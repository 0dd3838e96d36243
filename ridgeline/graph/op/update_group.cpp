#include "ridgeline/graph/op/update_group.h"

#include "ridgeline/graph/loop/text.h"
#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using namespace rules;

// The results of the expression as a loop over one parameter: its states' next values, elements of f32, no sums; then
// copies, which are elements, too. Returns the types of the copies.
std::vector<DType> expect_results(const OpInstance& op, const UpdateGroup& group) {
  std::vector<ValueType> operands;
  for (std::size_t i : group.operands_of(0)) operands.push_back(op.inputs[i]);
  const std::string& expression = op.attributes.string("expression");
  const auto types = infer_types(op_def("loop"), operands, {{"expression", expression}}, op.name);
  std::vector<DType> copies;
  for (std::size_t r = 0; r < types.size(); ++r) {
    const bool copy = r >= group.states;
    if (copy) copies.push_back(types[r].dtype);
    if (copy ? types[r].shape == operands[0].shape : types[r] == operands[0]) continue;
    fail("update_group", "the expression '" + expression + "' gives " + types[r].to_string() + " where " +
                             (copy ? "a copy" : "the next value") + " of a state, " + operands[0].to_string() +
                             ", is meant");
  }
  return copies;
}

std::vector<ValueType> infer_update_group(const OpInstance& op) {
  const UpdateGroup group(op.attributes, op.inputs.size());
  std::vector<ValueType> results;
  for (std::size_t p = 0; p < group.parameters; ++p) {
    const std::vector<std::size_t> operands = group.operands_of(p);
    const ValueType& type = op.inputs[operands[0]];
    expect_dtype("update_group", "a parameter", type, DType::f32);
    for (std::size_t i = 1; i <= group.states; ++i) {  // the other states and the gradient
      const ValueType& operand = op.inputs[operands[i]];
      const bool gradient = i == group.states;
      const DType expected = gradient ? op.inputs[group.operands_of(0)[i]].dtype : type.dtype;
      if (operand.shape == type.shape && operand.dtype == expected && is_floating(expected)) continue;
      fail("update_group", "operand " + std::to_string(operands[i]) + " is " + operand.to_string() +
                               ", the parameter " + type.to_string() + ": they must be alike" +
                               (gradient ? ", or all gradients of one other floating type" : ""));
    }
    for (std::size_t s = 0; s < group.states; ++s) results.push_back(type);
  }
  for (std::size_t i = op.inputs.size() - group.shared; i < op.inputs.size(); ++i) {
    if (op.inputs[i].shape.rank() != 0) fail("update_group", "operand " + std::to_string(i) + " must be a scalar");
  }
  const std::vector<DType> copies = expect_results(op, group);
  for (std::size_t p = 0; p < group.parameters; ++p) {
    for (DType copy : copies) results.push_back({copy, op.inputs[group.operands_of(p)[0]].shape});
  }
  return results;
}

void reference_update_group(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const UpdateGroup group(op.attributes, inputs.size());
  const Attributes expression{{"expression", op.attributes.string("expression")}};
  for (std::size_t p = 0; p < group.parameters; ++p) {
    std::vector<Tensor> operands;
    for (std::size_t i : group.operands_of(p)) operands.push_back(inputs[i]);
    const std::vector<Tensor> next = run_reference(op_def("loop"), operands, expression, op.name);
    const std::vector<std::size_t> results = group.results_of(p);
    for (std::size_t r = 0; r < results.size(); ++r) {
      Tensor& result = outputs[results[r]];
      for (std::int64_t i = 0; i < result.elements(); ++i) result.set(i, next[r].at(i));
    }
  }
}

}  // namespace

UpdateGroup::UpdateGroup(const Attributes& attributes, std::size_t operands) {
  const loop::Expression expression = loop::parse(attributes.string("expression"));
  const std::int64_t given = attributes.integer("copies");
  if (given < 0 || given >= static_cast<std::int64_t>(expression.results.size())) {
    fail("update_group", "copies=" + std::to_string(given) + " of " + std::to_string(expression.results.size()) +
                             " results of the expression");
  }
  copies = static_cast<std::size_t>(given);
  states = expression.results.size() - copies;
  const auto read = static_cast<std::size_t>(expression.operands);
  if (read < states + 1 || operands < read) {
    fail("update_group", "the expression gives " + std::to_string(states) + " states of " + std::to_string(read) +
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

std::vector<std::size_t> UpdateGroup::results_of(std::size_t p) const {
  std::vector<std::size_t> results;
  for (std::size_t s = 0; s < states; ++s) results.push_back(p * states + s);
  for (std::size_t c = 0; c < copies; ++c) results.push_back(parameters * states + p * copies + c);
  return results;
}

OpDef update_group_op() {
  OpDef def;
  def.name = "update_group";
  def.formula =
      "for each parameter p: next states and rounded copies = expression(states of p, gradient of p, shared...), "
      "element by element, in f32. Operands: all states, all gradients, shared values. Results: all next states, all "
      "copies";
  def.operands = {"operand"};
  def.min_operands = 1;
  def.max_operands = -1;
  def.results = {"next"};
  def.attributes = {
      required("expression", std::string("x0 - x2 * x1"), "loop expression (graph/loop/text.h)"),
      optional("copies", std::int64_t{0}, "number of results of the expression, the last ones, that are copies")};
  def.traits = kUpdate;
  def.writes_copies = true;
  def.infer = infer_update_group;
  def.reference = reference_update_group;
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
