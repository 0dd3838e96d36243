// ridgeline/train/recipe/trainer.h
//
// Runs a training (train/run.h) from a recipe: its data, model, options and log. Owns nothing beyond the call; a run
// continues from the newest checkpoint of its log directory.
#pragma once

#include "ridgeline/train/ranks/ranks.h"
#include "ridgeline/train/recipe/recipe.h"
#include "ridgeline/train/run.h"

namespace ridgeline::train {

struct TrainingResult : RunResult {
  bool has_validation = false;  // the data have a validation split
  double single_rank_fps = 0;   // in a benchmark over several ranks: of one device alone, measured before; else 0
};

// --mode=train and train_and_evaluate. If the run is stopped (by the user, an unreadable sample, a loss that is not
// finite), no step is lost that can be kept: the last step gets its line and, unless its numbers are no longer finite,
// its checkpoint. An evaluation that was due but not completed is made when the run is resumed. All ranks call it with
// the same recipe; one of them writes, see the result.
TrainingResult train(const Recipe& recipe, const RunRanks& ranks = {});

}  // namespace ridgeline::train
