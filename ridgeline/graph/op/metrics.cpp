#include "ridgeline/graph/op/metrics.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using namespace rules;

std::vector<ValueType> infer_metric(std::string_view op, const OpInstance& instance) {
  expect_floating(op, "logits", instance.inputs[0]);
  expect_rank(op, "logits", instance.inputs[0], 2);
  const Shape rows{instance.inputs[0].shape[0]};
  expect_dtype(op, "labels", instance.inputs[1], DType::i32);
  expect_shape(op, "labels", instance.inputs[1], rows);
  if (instance.inputs.size() == 3) {
    expect_floating(op, "mask", instance.inputs[2]);
    expect_shape(op, "mask", instance.inputs[2], rows);
  }
  return {{DType::f32, {}}};
}

// Counts the rows for which is_hit(row of logits, label).
template <class F>
void count_hits(std::string_view op, const OpInstance& instance, std::span<const Tensor> inputs, Tensor& hits,
                F&& is_hit) {
  const std::int64_t classes = instance.inputs[0].shape[1];
  const std::vector<double> logits = widen(inputs[0]);
  double count = 0;
  for (std::int64_t n = 0; n < instance.inputs[0].shape[0]; ++n) {
    if (inputs.size() == 3 && inputs[2].at(n) == 0) continue;
    const auto label = static_cast<std::size_t>(label_at(op, inputs[1], n, classes));
    const std::span<const double> row(&logits[static_cast<std::size_t>(n * classes)],
                                      static_cast<std::size_t>(classes));
    const bool finite = std::all_of(row.begin(), row.end(), [](double v) { return std::isfinite(v); });
    if (finite && is_hit(row, label)) ++count;
  }
  hits.set(0, count);
}

OpDef metric(const std::string& name) {
  OpDef def;
  def.name = name;
  def.operands = {"logits", "labels", "mask"};
  def.min_operands = 2;
  def.max_operands = 3;
  def.results = {"hits"};
  def.infer = [name](const OpInstance& op) { return infer_metric(name, op); };
  return def;
}

}  // namespace

std::vector<OpDef> metric_ops() {
  OpDef top_k = metric("top_k_accuracy");
  top_k.formula =
      "hits f32 [] = the number of rows whose mask is not 0 and in which fewer than k logits are greater than the "
      "logit of the label (so ties are hits, as in TensorFlow's in_top_k)";
  top_k.attributes = {required("k", std::int64_t{5}, "number of classes that count as guessed, at least 1")};
  top_k.infer = [](const OpInstance& op) {
    if (op.attributes.integer("k") < 1) {
      fail("top_k_accuracy", "k=" + std::to_string(op.attributes.integer("k")) + " must be at least 1");
    }
    return infer_metric("top_k_accuracy", op);
  };
  top_k.reference = [](const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
    const std::int64_t k = op.attributes.integer("k");
    count_hits("top_k_accuracy", op, inputs, outputs[0], [k](std::span<const double> row, std::size_t label) {
      return std::count_if(row.begin(), row.end(), [&](double v) { return v > row[label]; }) < k;
    });
  };

  OpDef argmax = metric("argmax_accuracy");
  argmax.formula =
      "hits f32 [] = the number of rows whose mask is not 0 and whose first largest logit is that of the label";
  argmax.reference = [](const OpInstance& op, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
    count_hits("argmax_accuracy", op, inputs, outputs[0], [](std::span<const double> row, std::size_t label) {
      return static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin()) == label;
    });
  };
  return {top_k, argmax};
}

}  // namespace ridgeline
