#include "ridgeline/train/metric/metric.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "ridgeline/core/error.h"
#include "ridgeline/train/loop/feed.h"

namespace ridgeline::train {
namespace {

const Tensor& tensor_named(const std::map<std::string, Tensor, std::less<>>& tensors, std::string_view name,
                           const char* what) {
  const auto found = tensors.find(name);
  if (found != tensors.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, tensor] : tensors) names.push_back(known);
  throw Error(fmt::format("[metric] the evaluation {} no {} (it {} {})", what, name, what,
                          names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "))));
}

}  // namespace

const Tensor& MetricBatch::input(std::string_view name) const { return tensor_named(inputs, name, "reads"); }
const Tensor& MetricBatch::output(std::string_view name) const { return tensor_named(outputs, name, "returns"); }

MetricBatch metric_batch(Program& program, const data::Batch& batch, const std::vector<nn::InputColumn>& columns) {
  MetricBatch result;
  const Graph& graph = program.graph();
  for (const ValueId id : graph.arguments) {
    const ValueInfo& argument = graph.value(id);
    if (argument.kind != ValueKind::input) continue;
    const std::string& column = column_of(argument.name, columns);
    if (batch.has(column)) result.inputs[argument.name] = batch.column(column);
  }
  for (const Return& value : graph.returns) result.outputs[value.name] = program.output(value.name);
  result.mask = batch.mask();
  return result;
}

void for_each_row(const MetricBatch& batch, const ClassifierNames& names,
                  const GivenFunction<void(std::span<const double> logits, std::size_t label)>& row) {
  const Tensor &logits = batch.output(names.logits), &labels = batch.input(names.labels);
  const bool shares = labels.shape().rank() == 2 && labels.shape() == logits.shape();
  if (logits.shape().rank() != 2 || (!shares && labels.elements() != logits.shape()[0])) {
    throw Error(fmt::format("[metric] {} is {} and {} {}; [N,classes] and [N] (or a share of each class) are meant",
                            names.logits, logits.shape().to_string(), names.labels, labels.shape().to_string()));
  }
  const std::int64_t classes = logits.shape()[1];
  const auto label_of = [&](std::int64_t n) {
    if (!shares) return labels.at(n);
    std::int64_t largest = 0;
    for (std::int64_t c = 1; c < classes; ++c)
      if (labels.at(n * classes + c) > labels.at(n * classes + largest)) largest = c;
    return static_cast<double>(largest);
  };
  std::vector<double> values(static_cast<std::size_t>(classes));
  for (std::int64_t n = 0; n < logits.shape()[0]; ++n) {
    if (batch.mask.at(n) == 0) continue;
    const double label = label_of(n);
    if (!(label >= 0 && label < static_cast<double>(classes)))
      throw Error(fmt::format("[metric] a label is {}; there are {} classes", label, classes));
    for (std::int64_t c = 0; c < classes; ++c) values[static_cast<std::size_t>(c)] = logits.at(n * classes + c);
    row(values, static_cast<std::size_t>(label));
  }
}

std::size_t predicted_class(std::span<const double> logits) {
  if (!std::all_of(logits.begin(), logits.end(), [](double v) { return std::isfinite(v); })) return logits.size();
  return static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double share(double a, double b) {
  if (b == 0) throw Error("[metric] no row was counted");
  return a / b;
}

}  // namespace ridgeline::train
