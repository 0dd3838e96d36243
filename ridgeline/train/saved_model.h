// ridgeline/train/saved_model.h
//
// What a run has trained, as a model that predicts.
#pragma once

#include "ridgeline/infer/model.h"
#include "ridgeline/train/recipe.h"

namespace ridgeline::train {

// Weights of recipe.restore_path (num_classes and image_size as the recipe says), or of the newest checkpoint in
// recipe.checkpoint_dir, with its classes. An empty recipe.model is the checkpoint's. One row a run.
infer::Model saved_model(const Recipe& recipe);

}  // namespace ridgeline::train
