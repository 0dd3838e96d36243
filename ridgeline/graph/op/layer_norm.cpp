#include "ridgeline/graph/op/layer_norm.h"

#include <cmath>

#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using namespace rules;

// Checks that x and gamma fit each other; `op` is the op or its gradient.
void expect_fit(std::string_view op, bool by_groups, const ValueType& x, const ValueType& gamma,
                const Attributes& attributes) {
  expect_parameter_dtype(op, "gamma", gamma, x.dtype);
  if (by_groups) {
    const std::int64_t groups = attributes.integer("groups");
    if (x.shape.rank() < 2) fail(op, "x must have a batch axis and a channel axis, not " + x.to_string());
    if (gamma.shape != Shape{x.shape[-1]}) {
      fail(op, "gamma is " + gamma.to_string() + ", x " + x.shape.to_string() + " has " + std::to_string(x.shape[-1]) +
                   " channels");
    }
    if (groups < 1 || x.shape[-1] % groups != 0) {
      fail(op, "groups=" + std::to_string(groups) + " does not divide the " + std::to_string(x.shape[-1]) +
                   " channels of x " + x.shape.to_string());
    }
  } else {
    const int rank = gamma.shape.rank();
    bool fits = rank >= 1 && rank <= x.shape.rank();
    for (int back = 1; fits && back <= rank; ++back) fits = gamma.shape[-back] == x.shape[-back];
    if (!fits) fail(op, "gamma is " + gamma.to_string() + ", which are not the last axes of x " + x.shape.to_string());
  }
  const SampleNormForm form = sample_norm_form(x.shape, gamma.shape, attributes);
  if (form.group_values() == 0) fail(op, "x is " + x.to_string() + ": there is nothing to take a mean of");
}

// [rows...] of a layer norm, [N,groups] of a group norm.
Shape statistics_shape(bool by_groups, const Shape& x, const Shape& gamma, const Attributes& attributes) {
  if (by_groups) return {x[0], attributes.integer("groups")};
  std::vector<std::int64_t> dims;
  for (int axis = 0; axis < x.rank() - gamma.rank(); ++axis) dims.push_back(x[axis]);
  return Shape(std::move(dims));
}

std::vector<ValueType> infer_layer_norm(std::string_view op, bool by_groups, const OpInstance& instance) {
  const ValueType &x = instance.inputs[0], &gamma = instance.inputs[1];
  expect_floating(op, "x", x);
  expect_fit(op, by_groups, x, gamma, instance.attributes);
  expect_dtype(op, "beta", instance.inputs[2], gamma.dtype);
  expect_shape(op, "beta", instance.inputs[2], gamma.shape);
  epsilon_of(op, instance.attributes);
  const ValueType statistic{gamma.dtype, statistics_shape(by_groups, x.shape, gamma.shape, instance.attributes)};
  return {x, statistic, statistic};
}

// Calls body(flat index in x, group among those of all samples, channel).
template <class F>
void for_each_value(const SampleNormForm& form, F&& body) {
  std::size_t at = 0;
  for (std::int64_t n = 0; n < form.samples; ++n) {
    for (std::int64_t p = 0; p < form.positions; ++p) {
      for (std::int64_t c = 0; c < form.channels; ++c, ++at) {
        body(at, static_cast<std::size_t>(n * form.groups + c / form.group_channels()), static_cast<std::size_t>(c));
      }
    }
  }
}

void reference_layer_norm(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const SampleNormForm form = sample_norm_form(op.inputs[0].shape, op.inputs[1].shape, op.attributes);
  const std::vector<double> x = widen(inputs[0]), gamma = widen(inputs[1]), beta = widen(inputs[2]);
  const auto groups = static_cast<std::size_t>(form.samples * form.groups);
  const auto count = static_cast<double>(form.group_values());
  std::vector<double> mean(groups, 0.0), inv_std(groups, 0.0), y(x.size());
  for_each_value(form, [&](std::size_t at, std::size_t g, std::size_t) { mean[g] += x[at]; });
  for (double& v : mean) v /= count;
  for_each_value(
      form, [&](std::size_t at, std::size_t g, std::size_t) { inv_std[g] += (x[at] - mean[g]) * (x[at] - mean[g]); });
  for (double& v : inv_std) v = 1 / std::sqrt(v / count + op.attributes.real("epsilon"));
  for_each_value(form, [&](std::size_t at, std::size_t g, std::size_t c) {
    y[at] = (x[at] - mean[g]) * inv_std[g] * gamma[c] + beta[c];
  });
  store(y, outputs[0]);
  store(mean, outputs[1]);
  store(inv_std, outputs[2]);
}

std::vector<ValueType> infer_layer_norm_bwd(std::string_view op, bool by_groups, const OpInstance& instance) {
  const ValueType &x = instance.inputs[0], &gamma = instance.inputs[2];
  expect_floating(op, "x", x);
  expect_dtype(op, "dy", instance.inputs[1], x.dtype);
  expect_shape(op, "dy", instance.inputs[1], x.shape);
  expect_fit(op, by_groups, x, gamma, instance.attributes);
  const Shape statistics = statistics_shape(by_groups, x.shape, gamma.shape, instance.attributes);
  for (std::size_t i = 3; i < 5; ++i) {
    expect_dtype(op, i == 3 ? "mean" : "inv_std", instance.inputs[i], gamma.dtype);
    expect_shape(op, i == 3 ? "mean" : "inv_std", instance.inputs[i], statistics);
  }
  return {x, gamma, gamma};
}

void reference_layer_norm_bwd(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const SampleNormForm form = sample_norm_form(op.inputs[0].shape, op.inputs[2].shape, op.attributes);
  const std::vector<double> x = widen(inputs[0]), dy = widen(inputs[1]), gamma = widen(inputs[2]),
                            mean = widen(inputs[3]), inv_std = widen(inputs[4]);
  const auto count = static_cast<double>(form.group_values());
  std::vector<double> sums(mean.size(), 0.0), products(mean.size(), 0.0);  // of dy * gamma, and of that times xhat
  std::vector<double> dx(x.size()), dgamma(gamma.size(), 0.0), dbeta(gamma.size(), 0.0);
  const auto xhat = [&](std::size_t at, std::size_t g) { return (x[at] - mean[g]) * inv_std[g]; };
  for_each_value(form, [&](std::size_t at, std::size_t g, std::size_t c) {
    dgamma[c] += dy[at] * xhat(at, g);
    dbeta[c] += dy[at];
    sums[g] += dy[at] * gamma[c];
    products[g] += dy[at] * gamma[c] * xhat(at, g);
  });
  for_each_value(form, [&](std::size_t at, std::size_t g, std::size_t c) {
    dx[at] = inv_std[g] * (dy[at] * gamma[c] - sums[g] / count - xhat(at, g) * products[g] / count);
  });
  store(dx, outputs[0]);
  store(dgamma, outputs[1]);
  store(dbeta, outputs[2]);
}

// The op and its gradient.
std::vector<OpDef> norm(const std::string& name, bool by_groups, const std::string& over) {
  std::vector<AttributeSpec> groups;
  if (by_groups)
    groups.push_back(required("groups", std::int64_t{32}, "number of groups of channels, all of the same size"));

  OpDef forward;
  forward.name = name;
  forward.formula = "y = (x - mean) * inv_std * gamma + beta; mean and variance over " + over +
                    ", inv_std = 1 / sqrt(variance + epsilon). If x is bf16 or f16, the other values may be f32";
  forward.operands = {"x", "gamma", "beta"};
  forward.min_operands = forward.max_operands = 3;
  forward.results = {"y", "mean", "inv_std"};
  forward.attributes = groups;
  forward.attributes.push_back(optional("epsilon", 1e-5, "added to the variance"));
  forward.infer = [name, by_groups](const OpInstance& op) { return infer_layer_norm(name, by_groups, op); };
  forward.reference = reference_layer_norm;
  forward.cost = cost_each(8);

  OpDef backward;
  backward.name = name + "_bwd";
  backward.formula =
      "xhat = (x - mean) * inv_std, g = dy * gamma; dgamma = sum(dy * xhat), dbeta = sum(dy), dx = inv_std * (g - "
      "mean(g) - xhat * mean(g * xhat)); means are over the same elements as in " +
      name;
  backward.operands = {"x", "dy", "gamma", "mean", "inv_std"};
  backward.min_operands = backward.max_operands = 5;
  backward.results = {"dx", "dgamma", "dbeta"};
  backward.attributes = groups;
  backward.infer = [name, by_groups](const OpInstance& op) {
    return infer_layer_norm_bwd(name + "_bwd", by_groups, op);
  };
  backward.reference = reference_layer_norm_bwd;
  backward.cost = cost_each(14);
  return {forward, backward};
}

}  // namespace

SampleNormForm sample_norm_form(const Shape& x, const Shape& gamma, const Attributes& attributes) {
  SampleNormForm form;
  if (const Attribute* groups = attributes.find("groups")) {
    form.groups = std::get<std::int64_t>(*groups);
    form.samples = x[0];
    form.channels = x[-1];
    for (int axis = 1; axis + 1 < x.rank(); ++axis) form.positions *= x[axis];
  } else {
    form.channels = gamma.elements();
    for (int axis = 0; axis < x.rank() - gamma.rank(); ++axis) form.samples *= x[axis];
  }
  return form;
}

std::vector<OpDef> layer_norm_ops() {
  std::vector<OpDef> ops = norm("layer_norm", false, "the last axes of x, which are the axes of gamma and beta");
  for (OpDef& def : norm("group_norm", true, "each group of channels of each sample of x [N,...,C]")) {
    ops.push_back(std::move(def));
  }
  return ops;
}

}  // namespace ridgeline
