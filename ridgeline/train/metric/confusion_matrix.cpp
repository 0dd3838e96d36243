#include "ridgeline/train/metric/confusion_matrix.h"

#include <fmt/format.h>

#include <numeric>

#include "ridgeline/core/error.h"

namespace ridgeline::train {
namespace {

std::size_t checked_classes(std::int64_t classes) {
  if (classes < 2)
    throw Error(fmt::format("The argument 'num_classes' must be 2 or more, but got {}", classes), ErrorKind::usage);
  return static_cast<std::size_t>(classes);
}

void check_extent(std::span<const double> logits, std::size_t classes) {
  if (logits.size() != classes)
    throw Error(fmt::format("[metric] the metric has {} classes, the logits {}", classes, logits.size()));
}

}  // namespace

ConfusionMatrix::ConfusionMatrix(std::int64_t classes, ClassifierNames names)
    : Metric(checked_classes(classes) * checked_classes(classes)),
      classes_(checked_classes(classes)),
      names_(std::move(names)) {}

void ConfusionMatrix::update(const MetricBatch& batch) {
  for_each_row(batch, names_, [&](std::span<const double> logits, std::size_t label) {
    check_extent(logits, classes_);
    const std::size_t taken_for = predicted_class(logits);
    if (taken_for < classes_) ++sums_[label * classes_ + taken_for];
  });
}

Tensor ConfusionMatrix::value() const {
  share(0, std::accumulate(sums_.begin(), sums_.end(), 0.0));
  const auto extent = static_cast<std::int64_t>(classes_);
  return Tensor::of(sums_, {extent, extent});
}

// Hits, then their totals.
ClassShare::ClassShare(std::int64_t classes, Of of, ClassifierNames names)
    : Metric(2 * checked_classes(classes)), classes_(checked_classes(classes)), of_(of), names_(std::move(names)) {}

void ClassShare::update(const MetricBatch& batch) {
  for_each_row(batch, names_, [&](std::span<const double> logits, std::size_t label) {
    check_extent(logits, classes_);
    const std::size_t taken_for = predicted_class(logits), counted = of_ == Of::labels ? label : taken_for;
    if (taken_for == label) ++sums_[label];
    if (counted < classes_) ++sums_[classes_ + counted];
  });
}

Tensor ClassShare::value() const {
  share(0, std::accumulate(sums_.begin(), sums_.end(), 0.0));
  Tensor shares(DType::f64, {static_cast<std::int64_t>(classes_)});
  for (std::size_t c = 0; c < classes_; ++c) {
    const double all = sums_[classes_ + c];
    shares.data<double>()[c] = all == 0 ? 0 : sums_[c] / all;
  }
  return shares;
}

}  // namespace ridgeline::train
