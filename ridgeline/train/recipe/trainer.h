// ridgeline/train/recipe/trainer.h
//
// A run (train/run.h) as its recipe describes it: which data, model and options it has, and what its log says of them.
// Owns nothing beyond the call; a run continues from the newest checkpoint of its log directory.
#pragma once

#include "ridgeline/train/ranks/ranks.h"
#include "ridgeline/train/recipe/recipe.h"
#include "ridgeline/train/run.h"

namespace ridgeline::train {

struct TrainingResult : RunResult {
  bool has_validation = false;  // the data have a part to evaluate on
  double single_rank_fps = 0;   // of a benchmark over several ranks: of one device alone, measured before; else 0
};

// --mode=train and train_and_evaluate. What stops the run (the user, an unreadable sample, a loss that is not finite)
// loses no step that can be kept: the step it stops after gets its line and, unless its numbers are no longer finite,
// its checkpoint. An evaluation that was due and did not come to its end is made when the run goes on.
// Over several ranks each calls it with the same recipe: one of them writes, which the result says.
TrainingResult train(const Recipe& recipe, const RunRanks& ranks = {});

}  // namespace ridgeline::train
