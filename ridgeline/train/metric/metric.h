// ridgeline/train/metric/metric.h
//
// What an evaluation measures: clear(), update() with each batch, value(). A metric keeps only sums over rows, so
// metrics over several subsets of a data set, or over several ranks, are combined by adding sums(). One thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/compile/run/program.h"
#include "ridgeline/core/given_function.h"
#include "ridgeline/data/runtime/batch.h"
#include "ridgeline/nn/network.h"

namespace ridgeline::train {

// A batch after the evaluation step. Views: valid until the next step.
struct MetricBatch {
  std::map<std::string, Tensor, std::less<>> inputs;   // that the step read, by its names
  std::map<std::string, Tensor, std::less<>> outputs;  // that it returned: sums f32[], or a row for each of the batch
  Tensor mask;                                         // u8 [N]: 0 for rows that do not count

  // Errors for an unknown name list the known ones.
  const Tensor& input(std::string_view name) const;
  const Tensor& output(std::string_view name) const;
};
// Made from `batch` and the program's last results.
MetricBatch metric_batch(Program& program, const data::Batch& batch, const std::vector<nn::InputColumn>& columns);

class Metric {
 public:
  virtual ~Metric() = default;
  void clear() { sums_.assign(sums_.size(), 0); }
  virtual void update(const MetricBatch& batch) = 0;
  // f64: [] for one number, [classes] for one per class, ... An Error if no row was counted.
  virtual Tensor value() const = 0;
  std::span<double> sums() { return sums_; }

 protected:
  explicit Metric(std::size_t sums) : sums_(sums, 0.0) {}
  std::vector<double> sums_;
};

// Where class scores and labels of a classifier are.
struct ClassifierNames {
  std::string logits = "logits";  // of what the evaluation returns, [N, classes]
  std::string labels = "labels";  // of its inputs, [N]; or [N, classes], where the largest counts
};
// Calls `row(logits, label)` for each row that counts. A label outside the classes is an Error.
void for_each_row(const MetricBatch& batch, const ClassifierNames& names,
                  const GivenFunction<void(std::span<const double> logits, std::size_t label)>& row);
// The index of the first largest; logits.size() if one is not finite: then no class is predicted.
std::size_t predicted_class(std::span<const double> logits);
// a / b; an Error for b = 0.
double share(double a, double b);

}  // namespace ridgeline::train
