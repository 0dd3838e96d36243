// ridgeline/train/recipe/saved_model.h
//
// The result of a training run as a model for predictions.
#pragma once

#include "ridgeline/infer/model.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {

// Weights of recipe.restore_path, or of the newest checkpoint in recipe.checkpoint_dir. Model, classes and image size
// are the file's, if it has them, as checkpoints do; else the recipe's. One row for each run of the model.
infer::Model saved_model(const Recipe& recipe);

}  // namespace ridgeline::train
