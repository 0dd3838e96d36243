// ridgeline/train/callback/early_stopping.h
//
// Ends a run whose measure has not improved for some time.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ridgeline/train/loop/callback.h"

namespace ridgeline::train {

struct EarlyStoppingOptions {
  std::int64_t patience = 1;  // how many measures in a row without improvement end the run
  double min_delta = 0;       // a measure counts as better if it is by more than this
  bool greater_is_better = false;
  std::string what = "loss";  // for the text
  // Gives a new measure, if there is one; by default the loss at the end of each epoch.
  std::function<std::optional<double>(const RunContext&)> measure = {};
  std::function<void(const std::string&)> log = {};
};

class EarlyStopping : public Callback {
 public:
  // A patience below 1 or a negative min_delta is an Error (usage).
  explicit EarlyStopping(EarlyStoppingOptions options);
  // Already looks for a measure of the step at which a run is resumed, and may end the run here.
  void begin(RunContext& context) override;
  void step_end(RunContext& context) override;
  // Counts a measure of an earlier process, so that a resumed run ends where an uninterrupted one would. NaN is never
  // better than another.
  void count(double value);
  std::int64_t waited() const { return waited_; }

 private:
  void stop_if_due(RunContext& context) const;

  EarlyStoppingOptions options_;
  std::optional<double> best_;
  std::int64_t waited_ = 0;
};

}  // namespace ridgeline::train
