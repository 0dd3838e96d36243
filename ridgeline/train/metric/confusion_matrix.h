// ridgeline/train/metric/confusion_matrix.h
//
// How often each class is predicted as which, and measures of each class from that. A row with a logit that is not
// finite counts as no class.
#pragma once

#include "ridgeline/train/metric/metric.h"

namespace ridgeline::train {

// f64[classes, classes]: a row for each label, a column for each predicted class.
class ConfusionMatrix : public Metric {
 public:
  explicit ConfusionMatrix(std::int64_t classes, ClassifierNames names = {});
  void update(const MetricBatch& batch) override;
  Tensor value() const override;

 private:
  std::size_t classes_;
  ClassifierNames names_;
};

// f64[classes]; computed from the hits, the rows of each class and the rows predicted as it.
class ClassShare : public Metric {
 public:
  void update(const MetricBatch& batch) override;
  // 0 for a class without such rows.
  Tensor value() const override;

 protected:
  enum class Of { predictions, labels };
  ClassShare(std::int64_t classes, Of of, ClassifierNames names);

 private:
  std::size_t classes_;
  Of of_;
  ClassifierNames names_;
};

// For each class: the share of correct ones among the rows that are predicted as this class.
class Precision : public ClassShare {
 public:
  explicit Precision(std::int64_t classes, ClassifierNames names = {})
      : ClassShare(classes, Of::predictions, std::move(names)) {}
};

// For each class: the share that is predicted as this class among the rows that have its label.
class Recall : public ClassShare {
 public:
  explicit Recall(std::int64_t classes, ClassifierNames names = {})
      : ClassShare(classes, Of::labels, std::move(names)) {}
};

}  // namespace ridgeline::train
