// ridgeline/train/recipe/saved_model.h
//
// What a run has trained, as a model that predicts.
#pragma once

#include "ridgeline/infer/model.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {

// Weights of recipe.restore_path, or of the newest checkpoint in recipe.checkpoint_dir. Where the file tells model,
// classes and image size, as checkpoints do, those count; else the recipe says them. One row a run.
infer::Model saved_model(const Recipe& recipe);

}  // namespace ridgeline::train
