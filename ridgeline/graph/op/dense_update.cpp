#include "ridgeline/graph/op/dense_update.h"

#include "ridgeline/graph/loop/text.h"
#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using namespace rules;

constexpr const char* kName = "dense_update";

// What the expression gives as a loop over the states, a gradient like w and the scalars: states, then copies.
std::vector<ValueType> loop_results(const OpInstance& op) {
  const DenseUpdate at(op.attributes);
  const ValueType& w = op.inputs[0];
  std::vector<ValueType> operands(at.states + 1, w);
  operands.insert(operands.end(), op.inputs.begin() + static_cast<std::ptrdiff_t>(at.scalars()), op.inputs.end());
  const std::string& expression = op.attributes.string("expression");
  std::vector<ValueType> results = infer_types(op_def("loop"), operands, {{"expression", expression}}, op.name);
  if (results.size() < at.states) {
    fail(kName, "the expression '" + expression + "' gives " + std::to_string(results.size()) + " results where " +
                    std::to_string(at.states) + " next states are meant");
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i < at.states ? results[i] == w : results[i].shape == w.shape) continue;
    fail(kName, "the expression '" + expression + "' gives " + results[i].to_string() + " where " +
                    (i < at.states ? "the next value of a state, " : "a copy of a state, ") + w.to_string() +
                    ", is meant");
  }
  return results;
}

std::vector<ValueType> infer_dense_update(const OpInstance& op) {
  const DenseUpdate at(op.attributes);
  if (op.inputs.size() < at.scalars()) fail(kName, "operands are the states, x, dy, then scalars");
  const ValueType &w = op.inputs[0], &x = op.inputs[at.x()], &dy = op.inputs[at.dy()];
  expect_dtype(kName, "w", w, DType::f32);
  for (std::size_t i = 1; i < at.states; ++i) {
    if (op.inputs[i] != w) {
      fail(kName, "state " + std::to_string(i) + " is " + op.inputs[i].to_string() + ", w is " + w.to_string() +
                      ": they must be alike");
    }
  }
  expect_one_floating_dtype(kName, op.inputs.subspan(at.x(), 2));
  if (x.dtype == DType::f64) fail(kName, "x is f64, the gradient would be rounded to f32");
  expect_rank(kName, "x", x, 2);
  expect_rank(kName, "dy", dy, 2);
  if (x.shape[0] != dy.shape[0])
    fail(kName, "x " + x.shape.to_string() + " and dy " + dy.shape.to_string() + " have different numbers of rows");
  expect_shape(kName, "w", w, {dy.shape[1], x.shape[1]});
  for (std::size_t i = at.scalars(); i < op.inputs.size(); ++i) {
    if (op.inputs[i].shape.rank() != 0) fail(kName, "operand " + std::to_string(i) + " must be a scalar");
  }
  const std::vector<ValueType> next = loop_results(op);
  std::vector<ValueType> results(at.states, w);
  if (at.bias) results.push_back({DType::f32, Shape{dy.shape[1]}});
  if (at.squares) results.push_back({DType::f32, Shape{}});
  results.insert(results.end(), next.begin() + static_cast<std::ptrdiff_t>(at.states), next.end());
  return results;
}

void reference_dense_update(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const DenseUpdate at(op.attributes);
  const OpDef& dense = op_def("dense_bwd_weights");
  const std::vector<Tensor> gradients =
      run_reference(dense, inputs.subspan(at.x(), 2),
                    complete_attributes(dense, {{"bias", at.bias}, {"f32_results", true}}), op.name);
  std::vector<Tensor> operands(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(at.states));
  operands.push_back(gradients[0]);
  operands.insert(operands.end(), inputs.begin() + static_cast<std::ptrdiff_t>(at.scalars()), inputs.end());
  const Attributes expression{{"expression", op.attributes.string("expression")}};
  const auto copy = [](const Tensor& from, Tensor& to) {
    for (std::int64_t i = 0; i < to.elements(); ++i) to.set(i, from.at(i));
  };
  const std::vector<Tensor> next = run_reference(op_def("loop"), operands, expression, op.name);
  for (std::size_t i = 0; i < next.size(); ++i) copy(next[i], outputs[at.result_of(i)]);
  if (at.bias) copy(gradients[1], outputs[at.bias_result()]);
  if (!at.squares) return;
  double sum = 0;
  for (double v : widen(inputs[0])) sum += v * v;
  outputs[at.squares_result()].set(0, sum);
}

}  // namespace

DenseUpdate::DenseUpdate(const Attributes& attributes)
    : bias(attributes.boolean("bias")), squares(attributes.boolean("squares")) {
  const std::int64_t count = attributes.integer("states");
  if (count < 1) fail(kName, "states is " + std::to_string(count) + "; the weights are one");
  states = static_cast<std::size_t>(count);
}

OpDef dense_update_op() {
  OpDef def;
  def.name = kName;
  def.formula =
      "dw[k,c] = sum over n of dy[n,k] * x[n,c]; next states = expression(states, dw, scalars...), element by element, "
      "in f32. Operands: the states (first w [K,C]), x [N,C], dy [N,K], scalars. Results: the next states; with "
      "bias=true db[k] = sum over n of dy[n,k]; with squares=true the sum of w[k,c]^2; then the other results of the "
      "expression, rounded copies of states";
  def.operands = {"operand"};
  def.min_operands = 3;
  def.max_operands = -1;
  def.results = {"result"};
  def.attributes = {
      required("expression", std::string("x0 - x2 * x1"), "loop expression (graph/loop/text.h)"),
      required("states", std::int64_t{1}, "number of states: the weights and their slots"),
      optional("bias", false, "whether db is a result"),
      optional("squares", false, "whether the sum of the squares of the weights before the update is a result")};
  def.traits = kUpdate;
  def.states = [](const Attributes& attributes) { return DenseUpdate(attributes).states; };
  def.writes_copies = true;
  def.infer = infer_dense_update;
  def.reference = reference_dense_update;
  def.cost = [](const OpInstance& op, std::span<const ValueType> results) {
    const loop::Expression expression = loop::parse(op.attributes.string("expression"));
    const auto weights = static_cast<double>(results[0].shape.elements());
    const double rows = static_cast<double>(op.inputs[DenseUpdate(op.attributes).x()].shape[0]);
    return Cost{(2 * rows + static_cast<double>(expression.terms.size())) * weights, bytes_moved(op, results)};
  };
  return def;
}

}  // namespace ridgeline
