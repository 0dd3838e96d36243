#include "ridgeline/graph/op/softmax.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ridgeline/core/math.h"
#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using namespace rules;

struct Row {
  double largest;
  double log_sum;  // log of sum of exp(x - largest)
};

// Probabilities of one row into `p`.
Row softmax_row(const double* x, std::size_t classes, double* p) {
  double largest = x[0];
  for (std::size_t k = 1; k < classes; ++k) largest = std::max(largest, x[k]);
  double sum = 0;
  for (std::size_t k = 0; k < classes; ++k) sum += p[k] = portable_exp(x[k] - largest);
  for (std::size_t k = 0; k < classes; ++k) p[k] /= sum;
  return {largest, portable_log(sum)};
}

// x as [outer, classes, inner]: rows of classes that lie `inner` elements apart.
struct Rows {
  std::size_t outer = 1, classes = 1, inner = 1;
  Rows(std::string_view op, const Shape& x, const Attributes& attributes) {
    const int axis = axis_of(op, attributes.integer("axis"), x.rank());
    for (int a = 0; a < x.rank(); ++a) {
      (a < axis ? outer : a == axis ? classes : inner) *= static_cast<std::size_t>(x[a]);
    }
  }
  // body(flat index of the row's first element) for each row.
  template <class F>
  void for_each(F&& body) const {
    for (std::size_t o = 0; classes > 0 && o < outer; ++o) {
      for (std::size_t i = 0; i < inner; ++i) body(o * classes * inner + i);
    }
  }
};

std::vector<ValueType> infer_softmax(const OpInstance& op) {
  expect_floating("softmax", "x", op.inputs[0]);
  axis_of("softmax", op.attributes.integer("axis"), op.inputs[0].shape.rank());
  return {op.inputs[0]};
}

void reference_softmax(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Rows rows("softmax", op.inputs[0].shape, op.attributes);
  const std::vector<double> x = widen(inputs[0]);
  std::vector<double> p(x.size()), row(rows.classes), of_row(rows.classes);
  rows.for_each([&](std::size_t at) {
    for (std::size_t k = 0; k < rows.classes; ++k) row[k] = x[at + k * rows.inner];
    softmax_row(row.data(), rows.classes, of_row.data());
    for (std::size_t k = 0; k < rows.classes; ++k) p[at + k * rows.inner] = of_row[k];
  });
  store(p, outputs[0]);
}

std::vector<ValueType> infer_softmax_backward(const OpInstance& op) {
  expect_one_floating_dtype("softmax_bwd", op.inputs);
  expect_shape("softmax_bwd", "dy", op.inputs[1], op.inputs[0].shape);
  axis_of("softmax_bwd", op.attributes.integer("axis"), op.inputs[0].shape.rank());
  return {op.inputs[0]};
}

void reference_softmax_backward(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Rows rows("softmax_bwd", op.inputs[0].shape, op.attributes);
  const std::vector<double> y = widen(inputs[0]), dy = widen(inputs[1]);
  std::vector<double> dx(y.size());
  rows.for_each([&](std::size_t at) {
    double sum = 0;
    for (std::size_t k = 0; k < rows.classes; ++k) sum += y[at + k * rows.inner] * dy[at + k * rows.inner];
    for (std::size_t k = 0; k < rows.classes; ++k) {
      const std::size_t i = at + k * rows.inner;
      dx[i] = y[i] * (dy[i] - sum);
    }
  });
  store(dx, outputs[0]);
}

double smoothing_of(std::string_view op, const Attributes& attributes) {
  const double smoothing = attributes.real("label_smoothing");
  if (!(smoothing >= 0 && smoothing <= 1)) {
    fail(op, "label_smoothing=" + to_string(Attribute(smoothing)) + " is outside [0, 1]");
  }
  return smoothing;
}

// q of one row, and its sum: labels are a class or a share of each class.
class Targets {
 public:
  Targets(const Tensor& labels, double smoothing, std::int64_t classes)
      : labels_(labels),
        smoothing_(smoothing),
        classes_(classes),
        shares_(is_floating(labels.dtype()) ? widen(labels) : std::vector<double>()) {}

  std::vector<double> row(std::int64_t n) const {
    const auto width = static_cast<std::size_t>(classes_);
    std::vector<double> q(width, smoothing_ / static_cast<double>(classes_));
    if (shares_.empty()) {
      q[static_cast<std::size_t>(label_at("softmax_cross_entropy", labels_, n, classes_))] += 1 - smoothing_;
    } else {
      for (std::size_t k = 0; k < width; ++k)
        q[k] += (1 - smoothing_) * shares_[static_cast<std::size_t>(n) * width + k];
    }
    return q;
  }

 private:
  const Tensor& labels_;
  double smoothing_;
  std::int64_t classes_;
  std::vector<double> shares_;
};

void expect_rows(std::string_view op, const OpInstance& instance, std::size_t mask) {
  expect_floating(op, "operand 0", instance.inputs[0]);
  expect_rank(op, "operand 0", instance.inputs[0], 2);
  if (instance.inputs[0].shape[1] == 0) fail(op, "operand 0 is " + instance.inputs[0].to_string() + ": no classes");
  const Shape rows{instance.inputs[0].shape[0]};
  if (is_floating(instance.inputs[1].dtype)) {
    expect_shape(op, "labels", instance.inputs[1], instance.inputs[0].shape);
  } else {
    expect_dtype(op, "labels", instance.inputs[1], DType::i32);
    expect_shape(op, "labels", instance.inputs[1], rows);
  }
  if (instance.inputs.size() > mask) {
    expect_floating(op, "mask", instance.inputs[mask]);
    expect_shape(op, "mask", instance.inputs[mask], rows);
  }
}

std::vector<ValueType> infer_loss(const OpInstance& op) {
  expect_rows("softmax_cross_entropy", op, 2);
  smoothing_of("softmax_cross_entropy", op.attributes);
  return {{op.inputs[0].dtype, Shape{op.inputs[0].shape[0]}}, op.inputs[0]};
}

void reference_loss(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::int64_t classes = op.inputs[0].shape[1];
  const auto width = static_cast<std::size_t>(classes);
  const Targets targets(inputs[1], op.attributes.real("label_smoothing"), classes);
  const std::vector<double> x = widen(inputs[0]);
  std::vector<double> p(x.size()), loss(x.size() / width, 0.0);
  for (std::size_t n = 0; n < loss.size(); ++n) {
    const double* row = &x[n * width];
    const Row sums = softmax_row(row, width, &p[n * width]);
    const auto index = static_cast<std::int64_t>(n);
    if (inputs.size() > 2 && inputs[2].at(index) == 0) continue;
    const std::vector<double> q = targets.row(index);
    for (std::size_t k = 0; k < width; ++k) {
      if (q[k] != 0) loss[n] -= q[k] * (row[k] - sums.largest - sums.log_sum);  // an infinite term may have no share
    }
  }
  store(loss, outputs[0]);
  store(p, outputs[1]);
}

std::vector<ValueType> infer_loss_backward(const OpInstance& op) {
  constexpr std::string_view name = "softmax_cross_entropy_bwd";
  expect_rows(name, op, 3);
  smoothing_of(name, op.attributes);
  expect_dtype(name, "dloss", op.inputs[2], op.inputs[0].dtype);
  expect_shape(name, "dloss", op.inputs[2], Shape{op.inputs[0].shape[0]});
  return {op.inputs[0]};
}

void reference_loss_backward(const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::int64_t classes = op.inputs[0].shape[1];
  const auto width = static_cast<std::size_t>(classes);
  const Targets targets(inputs[1], op.attributes.real("label_smoothing"), classes);
  std::vector<double> dx = widen(inputs[0]);  // p, row by row replaced
  const std::vector<double> dloss = widen(inputs[2]);
  for (std::size_t n = 0; n < dloss.size(); ++n) {
    double* row = &dx[n * width];
    const auto index = static_cast<std::int64_t>(n);
    if (inputs.size() > 3 && inputs[3].at(index) == 0) {
      std::fill(row, row + width, 0.0);
      continue;
    }
    const std::vector<double> q = targets.row(index);
    // 1 where the label is a class; shares may have another sum.
    const double all = inputs[1].dtype() == DType::i32 ? 1 : std::accumulate(q.begin(), q.end(), 0.0);
    for (std::size_t k = 0; k < width; ++k) row[k] = (row[k] * all - q[k]) * dloss[n];
  }
  store(dx, outputs[0]);
}

}  // namespace

std::vector<OpDef> softmax_ops() {
  const AttributeSpec smoothing =
      optional("label_smoothing", 0.0, "weight of the uniform distribution in the target, [0, 1]");

  const AttributeSpec axis = optional("axis", std::int64_t{-1}, fmt::format("axis of k; {}", kAxisMeaning));

  OpDef softmax;
  softmax.name = "softmax";
  softmax.formula = "y[...,k] = exp(x[...,k]) / sum over j of exp(x[...,j])";
  softmax.operands = {"x"};
  softmax.min_operands = softmax.max_operands = 1;
  softmax.results = {"y"};
  softmax.attributes = {axis};
  softmax.infer = infer_softmax;
  softmax.reference = reference_softmax;
  softmax.cost = cost_each(4);

  OpDef softmax_backward;
  softmax_backward.name = "softmax_bwd";
  softmax_backward.formula = "dx[...,k] = y[...,k] * (dy[...,k] - sum over j of y[...,j] * dy[...,j])";
  softmax_backward.operands = {"y", "dy"};
  softmax_backward.min_operands = softmax_backward.max_operands = 2;
  softmax_backward.results = {"dx"};
  softmax_backward.attributes = {axis};
  softmax_backward.infer = infer_softmax_backward;
  softmax_backward.reference = reference_softmax_backward;
  softmax_backward.cost = cost_each(4);

  OpDef loss;
  loss.name = "softmax_cross_entropy";
  loss.formula =
      "p = softmax(logits), loss[n] = -sum over k of q[n,k] * log p[n,k], q = (1 - label_smoothing) * one_hot(labels) "
      "+ label_smoothing / K; the loss is 0 where the mask is 0. logits [N,K], mask [N], labels i32 [N], or floating "
      "[N,K] instead of one_hot(labels)";
  loss.operands = {"logits", "labels", "mask"};
  loss.min_operands = 2;
  loss.max_operands = 3;
  loss.results = {"loss", "probabilities"};
  loss.attributes = {smoothing};
  loss.infer = infer_loss;
  loss.reference = reference_loss;
  loss.cost = cost_each(6);

  OpDef backward;
  backward.name = "softmax_cross_entropy_bwd";
  backward.formula =
      "dlogits[n,k] = (probabilities[n,k] * sum over j of q[n,j] - q[n,k]) * dloss[n], 0 where the mask is 0; q as in "
      "softmax_cross_entropy";
  backward.operands = {"probabilities", "labels", "dloss", "mask"};
  backward.min_operands = 3;
  backward.max_operands = 4;
  backward.results = {"dlogits"};
  backward.attributes = {smoothing};
  backward.infer = infer_loss_backward;
  backward.reference = reference_loss_backward;
  backward.cost = cost_each(2);
  return {softmax, softmax_backward, loss, backward};
}

}  // namespace ridgeline
