// ridgeline/train/callback/early_stopping.h
//
// Ends a run whose measure has not become better for some time.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ridgeline/train/loop/callback.h"

namespace ridgeline::train {

struct EarlyStoppingOptions {
  std::int64_t patience = 1;  // measures in a row that are not better; then the run ends
  double min_delta = 0;       // a measure is better if it is by more than this
  bool greater_is_better = false;
  std::string what = "loss";  // for the text
  // A new measure, where there is one; the default is the loss at the end of each epoch.
  std::function<std::optional<double>(const RunContext&)> measure = {};
  std::function<void(const std::string&)> log = {};
};

class EarlyStopping : public Callback {
 public:
  // A patience below 1 or a negative min_delta is an Error (usage).
  explicit EarlyStopping(EarlyStoppingOptions options);
  // Looks for a measure already: of the step at which a run goes on. One that has waited long enough ends here.
  void begin(RunContext& context) override;
  void step_end(RunContext& context) override;
  // A measure of an earlier process, so that a run that goes on ends where an undisturbed one would. One that is no
  // number is never better than another.
  void count(double value);
  std::int64_t waited() const { return waited_; }

 private:
  void stop_if_due(RunContext& context) const;

  EarlyStoppingOptions options_;
  std::optional<double> best_;
  std::int64_t waited_ = 0;
};

}  // namespace ridgeline::train
