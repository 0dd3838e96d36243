// ridgeline/train/metric/accuracy.h
//
// The share of rows whose label is among the most probable classes.
#pragma once

#include "ridgeline/train/metric/metric.h"

namespace ridgeline::train {

// The share of rows whose first largest logit is the label's.
class Accuracy : public Metric {
 public:
  explicit Accuracy(ClassifierNames names = {}) : Metric(2), names_(std::move(names)) {}
  void update(const MetricBatch& batch) override;
  Tensor value() const override { return Tensor::scalar(share(sums_[0], sums_[1])); }

 private:
  ClassifierNames names_;
};

// The share of rows in which fewer than k logits are greater than the label's: ties count as hits, as in TensorFlow's
// in_top_k.
class TopK : public Metric {
 public:
  explicit TopK(std::int64_t k, ClassifierNames names = {});
  void update(const MetricBatch& batch) override;
  Tensor value() const override { return Tensor::scalar(share(sums_[0], sums_[1])); }

 private:
  std::int64_t k_;
  ClassifierNames names_;
};

}  // namespace ridgeline::train
