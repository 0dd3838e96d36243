// ridgeline/train/recipe/trainer.h
//
// A run as its recipe describes it: session, data, model, loop, and the callbacks that write log, metrics and
// checkpoints and evaluate. Owns nothing beyond the call; a run continues from the newest checkpoint of its log
// directory.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "ridgeline/train/checkpoint/best_evaluation.h"
#include "ridgeline/train/ranks/ranks.h"
#include "ridgeline/train/recipe/recipe.h"
#include "ridgeline/train/training_log.h"

namespace ridgeline::train {

struct TrainingResult {
  std::int64_t step = 0;
  std::int64_t ranks = 1;          // that trained together
  bool writes = true;              // of several ranks: this one wrote log, metrics and checkpoints
  bool interrupted = false;        // the user or max_time stopped it; the steps done are in the checkpoint
  std::int64_t skipped_steps = 0;  // of the run so far, as their gradients overflowed under a loss scale
  StepLine last;                   // of the last log line
  double mean_fps = 0;             // of this process's log lines but the first; of that, if it is the only one
  double single_rank_fps =
      0;  // of a benchmark over several ranks: of one device alone, measured before the run; else 0
  std::optional<EvaluationRow> evaluation;  // of the last evaluation, also that of an earlier process at `step`
  bool has_validation = false;              // the data have a part to evaluate on
  std::string log_path;
  std::string metrics_path;
  std::string checkpoint_path;         // empty if none was written
  std::optional<BestCheckpoint> best;  // of the run's evaluations
  std::string best_path;
};

// --mode=train and train_and_evaluate. What stops the run (the user, an unreadable sample, a loss that is not finite)
// loses no step that can be kept: the step it stops after gets its line and, unless its numbers are no longer finite,
// its checkpoint. An evaluation that was due and did not come to its end is made when the run goes on.
// Over several ranks each calls it with the same recipe: one of them writes, which the result says.
TrainingResult train(const Recipe& recipe, const RunRanks& ranks = {});

}  // namespace ridgeline::train
