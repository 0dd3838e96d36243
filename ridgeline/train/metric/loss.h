// ridgeline/train/metric/loss.h
//
// The mean over all rows of a sum that the evaluation returns: by default the loss, without the penalty.
#pragma once

#include "ridgeline/train/metric/metric.h"

namespace ridgeline::train {

class Loss : public Metric {
 public:
  explicit Loss(std::string sum = "loss_sum") : Metric(2), sum_(std::move(sum)) {}
  void update(const MetricBatch& batch) override;
  Tensor value() const override { return Tensor::scalar(share(sums_[0], sums_[1])); }

 private:
  std::string sum_;
};

}  // namespace ridgeline::train
