// ridgeline/train/trainer.h
//
// The training loop: batches from the data graph into the compiled step, in loops of iterations_per_loop steps that are
// cut at the next log line, checkpoint, evaluation and last step, so that none of those depends on the loop's length.
// Owns nothing beyond the call; a run continues from the newest checkpoint of its log directory.
#pragma once

#include <optional>
#include <string>

#include "ridgeline/train/recipe.h"
#include "ridgeline/train/training_log.h"

namespace ridgeline::train {

struct TrainingResult {
  std::int64_t step = 0;
  bool interrupted = false;                 // the user stopped it; the steps done are in the checkpoint
  StepLine last;                            // of the last log line
  std::optional<EvaluationRow> evaluation;  // of the last evaluation, also that of an earlier process at `step`
  std::string log_path;
  std::string metrics_path;
  std::string checkpoint_path;  // empty if none was written
};

// --mode=train and train_and_evaluate. What stops the run (the user, an unreadable sample, a loss that is not finite)
// loses no step that can be kept: the step it stops after gets its line and, unless its numbers are no longer finite,
// its checkpoint. An evaluation that was due and did not come to its end is made when the run goes on.
TrainingResult train(const Recipe& recipe);

// The steps at which the loop returns to the host.
struct LoopPlan {
  std::int64_t total_steps = 0;
  std::int64_t loop = 1;    // iterations_per_loop, resolved
  bool loop_given = false;  // by the user: then every loop ends in a log line
  std::int64_t summary = 100;
  std::int64_t display = 1;
  std::int64_t checkpoint = 0;  // 0: none
  std::int64_t evaluation = 0;  // in steps; 0: none
  // The end of the loop that starts after `step` steps.
  std::int64_t next_stop(std::int64_t step) const;
  bool logs_at(std::int64_t step) const;
  bool evaluates_at(std::int64_t step) const;
  // Also before each evaluation: whatever ends that, the steps are kept.
  bool saves_at(std::int64_t step) const;
};

}  // namespace ridgeline::train
