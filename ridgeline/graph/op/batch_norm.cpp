#include "ridgeline/graph/op/batch_norm.h"

#include <cmath>

#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using namespace rules;

double epsilon_of(std::string_view op, const Attributes& attributes) {
  const double epsilon = attributes.real("epsilon");
  if (!(epsilon > 0)) fail(op, "epsilon=" + to_string(Attribute(epsilon)) + " must be positive");
  return epsilon;
}

// Checks x [...,C] and that the operands from `first` on are [C], of one type: x's, or f32; returns C.
std::int64_t channels_of(std::string_view op, const OpInstance& instance, std::size_t first) {
  expect_one_floating_dtype(op, instance.inputs.first(first));
  expect_one_floating_dtype(op, instance.inputs.subspan(first));
  expect_parameter_dtype(op, "operand " + std::to_string(first), instance.inputs[first], instance.inputs[0].dtype);
  const Shape& x = instance.inputs[0].shape;
  if (x.rank() < 2) fail(op, "x must have a batch axis and a channel axis, not " + instance.inputs[0].to_string());
  for (std::size_t i = first; i < instance.inputs.size(); ++i) {
    if (instance.inputs[i].shape != Shape{x[-1]}) {
      fail(op, "operand " + std::to_string(i) + " is " + instance.inputs[i].to_string() + ", x " + x.to_string() +
                   " has " + std::to_string(x[-1]) + " channels");
    }
  }
  return x[-1];
}

// sum over all but the last axis of value(flat index).
template <class F>
std::vector<double> channel_sums(std::size_t count, std::size_t channels, F&& value) {
  std::vector<double> sums(channels, 0.0);
  for (std::size_t i = 0; i < count; ++i) sums[i % channels] += value(i);
  return sums;
}

std::vector<ValueType> infer_train(const OpInstance& op) {
  const std::int64_t c = channels_of("batch_norm_train", op, 1);
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
  const std::size_t rows = x.size() / channels;
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
  store(y, outputs[0]);
  store(mean, outputs[1]);
  store(inv_std, outputs[2]);
  store(running_mean, outputs[3]);
  store(running_var, outputs[4]);
}

std::vector<ValueType> infer_backward(const OpInstance& op) {
  const std::int64_t c = channels_of("batch_norm_bwd", op, 2);
  expect_shape("batch_norm_bwd", "dy", op.inputs[1], op.inputs[0].shape);
  const ValueType parameter{op.inputs[2].dtype, Shape{c}};
  return {op.inputs[0], parameter, parameter};
}

// dx = gamma*inv_std * (dy - mean(dy) - xhat * mean(dy*xhat)), the means over the batch.
void reference_backward(const OpInstance&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::vector<double> x = widen(inputs[0]), dy = widen(inputs[1]), gamma = widen(inputs[2]);
  const std::vector<double> mean = widen(inputs[3]), inv_std = widen(inputs[4]);
  const std::size_t channels = gamma.size();
  const std::size_t rows = x.size() / channels;
  const auto count = static_cast<double>(rows);
  const auto xhat = [&](std::size_t i) { return (x[i] - mean[i % channels]) * inv_std[i % channels]; };
  const std::vector<double> dbeta = channel_sums(x.size(), channels, [&](std::size_t i) { return dy[i]; });
  const std::vector<double> dgamma = channel_sums(x.size(), channels, [&](std::size_t i) { return dy[i] * xhat(i); });
  std::vector<double> dx(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % channels;
    dx[i] = gamma[c] * inv_std[c] * (dy[i] - dbeta[c] / count - xhat(i) * dgamma[c] / count);
  }
  store(dx, outputs[0]);
  store(dgamma, outputs[1]);
  store(dbeta, outputs[2]);
}

std::vector<ValueType> infer_eval(const OpInstance& op) {
  channels_of("batch_norm_eval", op, 1);
  epsilon_of("batch_norm_eval", op.attributes);
  return {op.inputs[0]};
}

void reference_eval(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  std::vector<double> x = widen(inputs[0]);
  const std::vector<double> gamma = widen(inputs[1]), beta = widen(inputs[2]);
  const std::vector<double> mean = widen(inputs[3]), var = widen(inputs[4]);
  const double epsilon = op.attributes.real("epsilon");
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % gamma.size();
    x[i] = (x[i] - mean[c]) / std::sqrt(var[c] + epsilon) * gamma[c] + beta[c];
  }
  store(x, outputs[0]);
}

// `each` operations an element of x.
std::function<Cost(const OpInstance&, std::span<const ValueType>)> cost_each(double each) {
  return [each](const OpInstance& op, std::span<const ValueType> results) {
    return Cost{each * static_cast<double>(op.inputs[0].shape.elements()), bytes_moved(op, results)};
  };
}

}  // namespace

std::vector<OpDef> batch_norm_ops() {
  const AttributeSpec epsilon = optional("epsilon", 1e-5, "added to the variance");

  OpDef train;
  train.name = "batch_norm_train";
  train.law =
      "y = (x - mean) * inv_std * gamma + beta, mean and variance over all axes of x but the last, inv_std = 1 / "
      "sqrt(variance + epsilon); new_running = (1 - momentum) * running + momentum * (mean, or variance * m/(m-1) of m "
      "values). Beside bf16 and f16 x, parameters and statistics may be f32";
  train.operands = {"x", "gamma", "beta", "running_mean", "running_var"};
  train.min_operands = train.max_operands = 5;
  train.results = {"y", "mean", "inv_std", "new_running_mean", "new_running_var"};
  train.attributes = {optional("momentum", 0.1, "weight of the new batch in the running statistics"), epsilon};
  train.infer = infer_train;
  train.reference = reference_train;
  train.cost = cost_each(7);

  OpDef backward;
  backward.name = "batch_norm_bwd";
  backward.law =
      "xhat = (x - mean) * inv_std; dgamma = sum(dy * xhat), dbeta = sum(dy), dx = gamma * inv_std * (dy - dbeta/m - "
      "xhat * "
      "dgamma/m) for m values a channel";
  backward.operands = {"x", "dy", "gamma", "mean", "inv_std"};
  backward.min_operands = backward.max_operands = 5;
  backward.results = {"dx", "dgamma", "dbeta"};
  backward.infer = infer_backward;
  backward.reference = reference_backward;
  backward.cost = cost_each(11);

  OpDef eval;
  eval.name = "batch_norm_eval";
  eval.law = "y = (x - mean) / sqrt(var + epsilon) * gamma + beta";
  eval.operands = {"x", "gamma", "beta", "mean", "var"};
  eval.min_operands = eval.max_operands = 5;
  eval.results = {"y"};
  eval.attributes = {epsilon};
  eval.infer = infer_eval;
  eval.reference = reference_eval;
  eval.cost = cost_each(4);
  return {train, backward, eval};
}

}  // namespace ridgeline
