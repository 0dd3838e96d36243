#include "ridgeline/graph/op/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using namespace rules;

// Checks x [...,C], that operands [first, last) are [C] and of one type, x's or f32, and that all others have x's type;
// returns C.
std::int64_t channels_of(std::string_view op, const OpInstance& instance, std::size_t first, std::size_t last) {
  std::vector<ValueType> pictures(instance.inputs.begin(),
                                  instance.inputs.begin() + static_cast<std::ptrdiff_t>(first));
  pictures.insert(pictures.end(), instance.inputs.begin() + static_cast<std::ptrdiff_t>(last), instance.inputs.end());
  expect_one_floating_dtype(op, pictures);
  expect_one_floating_dtype(op, instance.inputs.subspan(first, last - first));
  expect_parameter_dtype(op, "operand " + std::to_string(first), instance.inputs[first], instance.inputs[0].dtype);
  const Shape& x = instance.inputs[0].shape;
  if (x.rank() < 2) fail(op, "x must have a batch axis and a channel axis, not " + instance.inputs[0].to_string());
  for (std::size_t i = first; i < last; ++i) {
    if (instance.inputs[i].shape != Shape{x[-1]}) {
      fail(op, "operand " + std::to_string(i) + " is " + instance.inputs[i].to_string() + ", x " + x.to_string() +
                   " has " + std::to_string(x[-1]) + " channels");
    }
  }
  return x[-1];
}

// Checks the attribute `activation` and the addend, operand 5, which has the shape of x.
void check_epilogue(std::string_view op, const OpInstance& instance) {
  const std::string& activation = instance.attributes.string("activation");
  if (activation != "none" && activation != "relu" && activation != "relu6") {
    fail(op, "unknown activation '" + activation + "' (allowed: none, relu, relu6)");
  }
  if (instance.inputs.size() == 6) expect_shape(op, "addend", instance.inputs[5], instance.inputs[0].shape);
}

// y + addend, then the activation.
void apply_epilogue(const OpInstance& op, std::span<const Tensor> inputs, std::vector<double>& y) {
  if (inputs.size() == 6) {
    const std::vector<double> addend = widen(inputs[5]);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += addend[i];
  }
  const std::string& activation = op.attributes.string("activation");
  if (activation == "none") return;
  for (double& v : y) v = v != v || v > 0 ? v : 0;  // as max(v, 0): NaN stays, -0 does not
  if (activation != "relu6") return;
  for (double& v : y) v = v > 6 ? 6 : v;
}

// sum over all but the last axis of value(flat index).
template <class F>
std::vector<double> channel_sums(std::size_t count, std::size_t channels, F&& value) {
  std::vector<double> sums(channels, 0.0);
  for (std::size_t i = 0; i < count; ++i) sums[i % channels] += value(i);
  return sums;
}

std::vector<ValueType> infer_train(const OpInstance& op) {
  const std::int64_t c = channels_of("batch_norm_train", op, 1, 5);
  check_epilogue("batch_norm_train", op);
  epsilon_of("batch_norm_train", op.attributes);
  const double momentum = op.attributes.real("momentum");
  if (!(momentum >= 0 && momentum <= 1)) {
    fail("batch_norm_train", "momentum=" + to_string(Attribute(momentum)) + " is outside [0, 1]");
  }
  if (op.inputs[0].shape.elements() <= c) {
    fail("batch_norm_train", "more than one value per channel is needed, x is " + op.inputs[0].to_string());
  }
  const ValueType statistic{op.inputs[1].dtype, Shape{c}};
  return {op.inputs[0], statistic, statistic, statistic, statistic};
}

void reference_train(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::vector<double> x = widen(inputs[0]), gamma = widen(inputs[1]), beta = widen(inputs[2]);
  std::vector<double> running_mean = widen(inputs[3]), running_var = widen(inputs[4]);
  const std::size_t channels = gamma.size();
  const std::size_t rows = x.size() / std::max<std::size_t>(1, channels);
  const auto count = static_cast<double>(rows);
  const double momentum = op.attributes.real("momentum");
  const double epsilon = op.attributes.real("epsilon");
  std::vector<double> mean = channel_sums(x.size(), channels, [&](std::size_t i) { return x[i]; });
  for (double& v : mean) v /= count;
  const std::vector<double> squares = channel_sums(x.size(), channels, [&](std::size_t i) {
    const double d = x[i] - mean[i % channels];
    return d * d;
  });
  std::vector<double> inv_std(channels), y(x.size());
  for (std::size_t c = 0; c < channels; ++c) {
    inv_std[c] = 1 / std::sqrt(squares[c] / count + epsilon);
    running_mean[c] = (1 - momentum) * running_mean[c] + momentum * mean[c];
    running_var[c] = (1 - momentum) * running_var[c] + momentum * squares[c] / (count - 1);
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % channels;
    y[i] = (x[i] - mean[c]) * inv_std[c] * gamma[c] + beta[c];
  }
  apply_epilogue(op, inputs, y);
  store(y, outputs[0]);
  store(mean, outputs[1]);
  store(inv_std, outputs[2]);
  store(running_mean, outputs[3]);
  store(running_var, outputs[4]);
}

// Where the gradient that batch_norm_bwd reads passes: everywhere, or where the activation after the batch norm was
// above 0 and, of relu6, below its ceiling. Its y is recomputed from x with operand 5 as beta (of_x), or is operand 5
// (of_y).
enum class Gate { none, of_x, of_y };

Gate gate_of(const Attributes& attributes) {
  const std::string& gate = attributes.string("gate");
  if (gate == "none") return Gate::none;
  if (gate == "of_x") return Gate::of_x;
  if (gate == "of_y") return Gate::of_y;
  fail("batch_norm_bwd", "unknown gate '" + gate + "' (allowed: none, of_x, of_y)");
}

double ceiling_of(const Attributes& attributes) {
  const double ceiling = attributes.real("ceiling");
  if (!(ceiling >= 0)) fail("batch_norm_bwd", "ceiling=" + to_string(Attribute(ceiling)) + " is below 0");
  if (ceiling > 0 && attributes.string("gate") == "none") fail("batch_norm_bwd", "a ceiling without a gate");
  return ceiling;
}

std::vector<ValueType> infer_batch_norm_bwd(const OpInstance& op) {
  const Gate gate = gate_of(op.attributes);
  ceiling_of(op.attributes);
  const bool addend = op.attributes.boolean("addend");
  const std::size_t wanted = 5 + (gate == Gate::none ? 0u : 1u) + (addend ? 1u : 0u);
  if (op.inputs.size() != wanted) {
    fail("batch_norm_bwd",
         "this gate and addend want " + std::to_string(wanted) + " operands, not " + std::to_string(op.inputs.size()));
  }
  const std::int64_t c = channels_of("batch_norm_bwd", op, 2, gate == Gate::of_x ? 6 : 5);
  const ValueType x = op.inputs[0];
  expect_shape("batch_norm_bwd", "dy", op.inputs[1], x.shape);
  if (gate == Gate::of_y) expect_shape("batch_norm_bwd", "y", op.inputs[5], x.shape);
  if (addend) expect_shape("batch_norm_bwd", "addend", op.inputs.back(), x.shape);
  const ValueType parameter{op.inputs[2].dtype, Shape{c}};
  std::vector<ValueType> results = {x, parameter, parameter};
  if (op.attributes.boolean("passed")) results.push_back(x);
  return results;
}

// What the forward op stored: values just below the ceiling may have been rounded up to it.
std::vector<double> as_stored(const std::vector<double>& values, DType dtype) {
  Tensor stored(dtype, Shape{static_cast<std::int64_t>(values.size())});
  store(values, stored);
  return widen(stored);
}

// dx = gamma*inv_std * (g - mean(g) - xhat * mean(g*xhat)), the means over the batch.
void reference_batch_norm_bwd(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::vector<double> x = widen(inputs[0]), gamma = widen(inputs[2]);
  const std::vector<double> mean = widen(inputs[3]), inv_std = widen(inputs[4]);
  std::vector<double> g = widen(inputs[1]);
  const std::size_t channels = gamma.size();
  const std::size_t rows = x.size() / std::max<std::size_t>(1, channels);
  const auto count = static_cast<double>(rows);
  const auto xhat = [&](std::size_t i) { return (x[i] - mean[i % channels]) * inv_std[i % channels]; };
  if (op.attributes.boolean("addend")) {
    const std::vector<double> addend = widen(inputs.back());
    for (std::size_t i = 0; i < g.size(); ++i) g[i] += addend[i];
  }
  if (const Gate gate = gate_of(op.attributes); gate != Gate::none) {
    std::vector<double> y = widen(inputs[5]);
    if (gate == Gate::of_x) {
      const std::vector<double> beta = std::move(y);
      y.resize(x.size());
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = xhat(i) * gamma[i % channels] + beta[i % channels];
    }
    const double ceiling = ceiling_of(op.attributes);
    if (ceiling > 0 && gate == Gate::of_x) y = as_stored(y, inputs[0].dtype());
    for (std::size_t i = 0; i < g.size(); ++i) {
      if (y[i] <= 0 || (ceiling > 0 && y[i] >= ceiling)) g[i] = 0;
    }
  }
  const std::vector<double> dbeta = channel_sums(x.size(), channels, [&](std::size_t i) { return g[i]; });
  const std::vector<double> dgamma = channel_sums(x.size(), channels, [&](std::size_t i) { return g[i] * xhat(i); });
  std::vector<double> dx(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % channels;
    dx[i] = gamma[c] * inv_std[c] * (g[i] - dbeta[c] / count - xhat(i) * dgamma[c] / count);
  }
  store(dx, outputs[0]);
  store(dgamma, outputs[1]);
  store(dbeta, outputs[2]);
  if (outputs.size() == 4) store(g, outputs[3]);
}

// Recomputes y from the statistics that the training op has returned.
Node train_again(const Node& node) {
  Node again = node;
  again.op = "batch_norm_eval";
  again.inputs[3] = node.outputs[1];
  again.inputs[4] = node.outputs[2];
  again.outputs = {node.outputs[0]};
  again.attributes = complete_attributes(
      op_def(again.op), {{"activation", node.attributes.string("activation")}, {"var_is_inv_std", true}});
  return again;
}

std::vector<ValueType> infer_eval(const OpInstance& op) {
  channels_of("batch_norm_eval", op, 1, 5);
  check_epilogue("batch_norm_eval", op);
  epsilon_of("batch_norm_eval", op.attributes);
  return {op.inputs[0]};
}

void reference_eval(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  std::vector<double> x = widen(inputs[0]);
  const std::vector<double> gamma = widen(inputs[1]), beta = widen(inputs[2]);
  const std::vector<double> mean = widen(inputs[3]), var = widen(inputs[4]);
  const double epsilon = op.attributes.real("epsilon");
  const bool inverse = op.attributes.boolean("var_is_inv_std");
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % gamma.size();
    const double inv_std = inverse ? var[c] : 1 / std::sqrt(var[c] + epsilon);
    x[i] = (x[i] - mean[c]) * inv_std * gamma[c] + beta[c];
  }
  apply_epilogue(op, inputs, x);
  store(x, outputs[0]);
}

}  // namespace

std::vector<OpDef> batch_norm_ops() {
  const AttributeSpec epsilon = optional("epsilon", 1e-5, "added to the variance");
  const AttributeSpec activation = optional("activation", std::string("none"), "none, relu or relu6, applied to y");

  OpDef train;
  train.name = "batch_norm_train";
  train.formula =
      "y = (x - mean) * inv_std * gamma + beta [+ addend], then the activation; mean and variance are over all axes of "
      "x except the last, inv_std = 1 / sqrt(variance + epsilon); new_running = (1 - momentum) * running + momentum * "
      "(mean, or variance * m/(m-1) for m values). If x is bf16 or f16, parameters and statistics may be f32";
  train.operands = {"x", "gamma", "beta", "running_mean", "running_var", "addend"};
  train.min_operands = 5;
  train.max_operands = 6;
  train.results = {"y", "mean", "inv_std", "new_running_mean", "new_running_var"};
  train.attributes = {optional("momentum", 0.1, "weight of the new batch in the running statistics"), epsilon,
                      activation};
  train.infer = infer_train;
  train.reference = reference_train;
  train.cost = cost_each(7);
  train.again = train_again;

  OpDef backward;
  backward.name = "batch_norm_bwd";
  backward.formula =
      "g = dy [+ addend] where the gate is open, else 0; xhat = (x - mean) * inv_std; dgamma = sum(g * xhat), dbeta = "
      "sum(g), dx = gamma * inv_std * (g - dbeta/m - xhat * dgamma/m) for m values per channel. The gate is the "
      "gradient of a relu or relu6 that follows the batch norm: closed where y <= 0, and where y >= ceiling if that is "
      "not 0; y is an operand (of_y) or recomputed from x and beta (of_x)";
  backward.operands = {"x", "dy", "gamma", "mean", "inv_std", "y_or_beta", "addend"};
  backward.min_operands = 5;
  backward.max_operands = 7;
  backward.results = {"dx", "dgamma", "dbeta", "g"};
  backward.attributes = {
      optional("gate", std::string("none"), "none, of_x (with an operand beta) or of_y (with an operand y)"),
      optional("ceiling", 0.0, "value of y from which on the gate is closed: 6 for relu6; 0: none"),
      optional("addend", false, "whether there is an operand addend, the last one, that is added to dy"),
      optional("passed", false, "whether g is a fourth result")};
  backward.infer = infer_batch_norm_bwd;
  backward.reference = reference_batch_norm_bwd;
  backward.cost = cost_each(11);

  OpDef eval;
  eval.name = "batch_norm_eval";
  eval.formula =
      "y = (x - mean) * inv_std * gamma + beta [+ addend], then the activation; inv_std = 1 / sqrt(var + epsilon), or "
      "var if var_is_inv_std=true";
  eval.operands = {"x", "gamma", "beta", "mean", "var", "addend"};
  eval.min_operands = 5;
  eval.max_operands = 6;
  eval.results = {"y"};
  eval.attributes = {epsilon, activation, optional("var_is_inv_std", false, "whether the operand var is inv_std")};
  eval.infer = infer_eval;
  eval.reference = reference_eval;
  eval.cost = cost_each(4);
  return {train, backward, eval};
}

}  // namespace ridgeline
