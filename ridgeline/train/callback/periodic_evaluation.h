// ridgeline/train/callback/periodic_evaluation.h
//
// Evaluations during a run: periodically and at its end. One that was due and not made is made when the run is resumed
// from that step.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ridgeline/core/given_function.h"
#include "ridgeline/train/callback/saves_checkpoints.h"
#include "ridgeline/train/metrics.h"
#include "ridgeline/train/training_log.h"

namespace ridgeline::train {

class PeriodicEvaluation : public Callback {
 public:
  // `evaluate` fills all fields but step, epoch and time; nullopt: the user interrupted it. `records`: the size of the
  // validation split, for the log. `savers` save before each evaluation, so that no step is lost however it ends.
  PeriodicEvaluation(std::int64_t period, std::int64_t records, GivenFunction<std::optional<EvaluationRow>()> evaluate,
                     TrainingLog& log, Metrics& metrics, std::vector<SavesCheckpoints*> savers = {})
      : period_(period),
        records_(records),
        evaluate_(std::move(evaluate)),
        log_(log),
        metrics_(metrics),
        savers_(std::move(savers)) {}

  std::int64_t next_stop(std::int64_t step) const override { return next_multiple(step, period_); }
  void begin(RunContext& context) override;
  void step_end(RunContext& context) override;

  // The last evaluation, or that of an earlier process at the step where this one began.
  const std::optional<EvaluationRow>& last() const { return last_; }

 private:
  bool due(const RunContext& context) const;
  void evaluate(RunContext& context);

  std::int64_t period_, records_;
  std::function<std::optional<EvaluationRow>()> evaluate_;
  TrainingLog& log_;
  Metrics& metrics_;
  std::vector<SavesCheckpoints*> savers_;
  std::optional<EvaluationRow> last_;
};

}  // namespace ridgeline::train
