#include "ridgeline/graph/op/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using namespace rules;

enum class Reduction { sum, mean, max };

bool is_reduced(const Integers& axes, int axis) {
  return axes.empty() || std::find(axes.begin(), axes.end(), axis) != axes.end();
}

std::vector<ValueType> infer_reduction(std::string_view op, const OpInstance& instance) {
  expect_floating(op, "x", instance.inputs[0]);
  const Integers& axes = instance.attributes.integers("axes");
  expect_axes(op, axes, instance.inputs[0].shape.rank());
  return {{instance.inputs[0].dtype,
           reduced_shape(instance.inputs[0].shape, axes, instance.attributes.boolean("keep_dims"))}};
}

void reference_reduction(Reduction kind, const OpInstance& op, std::span<const Tensor> inputs,
                         std::span<Tensor> outputs) {
  const Shape& shape = op.inputs[0].shape;
  const Integers& axes = op.attributes.integers("axes");
  const std::vector<double> x = widen(inputs[0]);
  // How far one step along each axis of x moves in the result: not at all along reduced axes.
  Integers steps = strides_of(reduced_shape(shape, axes, true));
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (is_reduced(axes, axis)) steps[static_cast<std::size_t>(axis)] = 0;
  }
  std::vector<double> y(static_cast<std::size_t>(outputs[0].elements()),
                        kind == Reduction::max ? -std::numeric_limits<double>::infinity() : 0.0);
  for_each_index(shape, [&](std::int64_t at, const Integers& index) {
    std::int64_t to = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) to += index[axis] * steps[axis];
    double& result = y[static_cast<std::size_t>(to)];
    const double v = x[static_cast<std::size_t>(at)];
    if (kind != Reduction::max) {
      result += v;
    } else if (v > result || std::isnan(v)) {
      result = v;  // a NaN stays: nothing is greater
    }
  });
  if (kind == Reduction::mean) {
    const double count = static_cast<double>(x.size()) / static_cast<double>(y.size());
    for (double& v : y) v /= count;
  }
  store(y, outputs[0]);
}

OpDef reduction(const std::string& name, std::string text, Reduction kind) {
  OpDef def;
  def.name = name;
  def.formula = std::move(text);
  def.operands = {"x"};
  def.min_operands = def.max_operands = 1;
  def.results = {"y"};
  def.attributes = {optional("axes", Integers{}, "axes to reduce, counted from 0; empty: all"),
                    optional("keep_dims", false, "whether reduced axes are kept with extent 1")};
  def.traits = kReduction;
  def.infer = [name](const OpInstance& op) { return infer_reduction(name, op); };
  def.reference = [kind](const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
    reference_reduction(kind, op, inputs, outputs);
  };
  def.cost = [](const OpInstance& op, std::span<const ValueType> results) {
    return Cost{static_cast<double>(op.inputs[0].shape.elements()), bytes_moved(op, results)};
  };
  return def;
}

}  // namespace

Shape reduced_shape(const Shape& x, const std::vector<std::int64_t>& axes, bool keep_dims) {
  std::vector<std::int64_t> dims;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!is_reduced(axes, axis))
      dims.push_back(x[axis]);
    else if (keep_dims)
      dims.push_back(1);
  }
  return Shape(std::move(dims));
}

std::vector<OpDef> reduce_ops() {
  return {reduction("reduce_sum", "y = the sum of x over the axes", Reduction::sum),
          reduction("reduce_mean", "y = the mean of x over the axes", Reduction::mean),
          reduction("reduce_max", "y = the largest element of x over the axes; a NaN wins", Reduction::max)};
}

}  // namespace ridgeline
