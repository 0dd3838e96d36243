// ridgeline/train/recipe/evaluator.h
//
// Accuracy and loss over the validation split, exact to the last record (the last batch is padded and masked), and the
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

// Runs the model's evaluation program over the validation split; with several ranks each over its share of the images,
// and sums are added. Ranks that hold shards of the model first gather its values, in memory that is released after the
// evaluation. nullopt if the user interrupted it. Fills all fields but step, epoch and time.
std::optional<EvaluationRow> evaluate_once(Model& model, const RunData& data, const Recipe& recipe, Session& session,
                                           TrainingLog& log);

// The Error of a bad sample with a hint at the policy under which the run would continue.
Error with_advice(const data::SampleError& error, const Recipe& recipe);

// --mode=evaluate: every checkpoint of --checkpoint_dir, or the one file of --restore_path. Returns the rows; prints
// the original's table, also into the log of log_dir, if that is not empty. Every rank calls it with the same recipe
// and evaluates its share of the images; the main rank reads and writes the files, and all get the same rows. A
// checkpoint that cannot be read is skipped with a warning. An Error if there is none, or none that can be read. If
// interrupted, says how many were evaluated and throws an Error of kind interrupted.
std::vector<EvaluationRow> evaluate_checkpoints(const Recipe& recipe, const RunRanks& ranks = {});

}  // namespace ridgeline::train
