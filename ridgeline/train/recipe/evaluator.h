// ridgeline/train/recipe/evaluator.h
//
// Accuracy and loss over the validation part, exact to the last record (the last batch is padded and masked), and the
// evaluation of a directory of checkpoints in the order of their steps.
#pragma once

#include "ridgeline/core/error.h"
#include "ridgeline/data/runtime/iterator.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/metrics.h"
#include "ridgeline/train/model.h"
#include "ridgeline/train/ranks/ranks.h"
#include "ridgeline/train/recipe/datasets.h"
#include "ridgeline/train/recipe/recipe.h"
#include "ridgeline/train/training_log.h"

namespace ridgeline::data {
class SampleError;  // runtime/rows/rows.h
}

namespace ridgeline::train {

// Runs the model's evaluation program over the validation part, of several ranks each over its share of the images; the
// sums are those of all shares. Ranks that hold parts of the model bring its values together first, in memory that is
// given back behind the evaluation. nullopt when the user interrupted it. Fills all fields but step, epoch and time.
std::optional<EvaluationRow> evaluate_once(Model& model, const RunData& data, const Recipe& recipe, Session& session,
                                           TrainingLog& log);

// The Error of a bad sample with a hint at the policy under which the recipe's mode would go on.
Error with_advice(const data::SampleError& error, const Recipe& recipe);

// --mode=evaluate: every checkpoint of --checkpoint_dir, or the one file of --restore_path. Returns the rows; prints
// the block of the recipe, also into the log of log_dir, where that is not empty. Of several ranks each calls it with
// the same recipe and evaluates its share of the images; the main rank reads the files and writes, and all have the
// same rows. A checkpoint that cannot be read is left out with a warning. An Error if there is none, or none that can
// be read. Interrupted: an Error of kind interrupted is thrown after a message that says how many are evaluated.
std::vector<EvaluationRow> evaluate_checkpoints(const Recipe& recipe, const RunRanks& ranks = {});

}  // namespace ridgeline::train
