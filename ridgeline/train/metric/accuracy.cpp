#include "ridgeline/train/metric/accuracy.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/core/error.h"

namespace ridgeline::train {

void Accuracy::update(const MetricBatch& batch) {
  for_each_row(batch, names_, [&](std::span<const double> logits, std::size_t label) {
    if (predicted_class(logits) == label) ++sums_[0];
    ++sums_[1];
  });
}

TopK::TopK(std::int64_t k, ClassifierNames names) : Metric(2), k_(k), names_(std::move(names)) {
  if (k < 1) throw Error(fmt::format("The argument 'k' must be 1 or more, but got {}", k), ErrorKind::usage);
}

void TopK::update(const MetricBatch& batch) {
  for_each_row(batch, names_, [&](std::span<const double> logits, std::size_t label) {
    const auto greater = std::count_if(logits.begin(), logits.end(), [&](double v) { return v > logits[label]; });
    if (predicted_class(logits) < logits.size() && greater < k_) ++sums_[0];
    ++sums_[1];
  });
}

}  // namespace ridgeline::train
