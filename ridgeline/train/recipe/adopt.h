// ridgeline/train/recipe/adopt.h
//
// Completes a recipe from a file of weights.
#pragma once

#include "ridgeline/train/checkpoint/stored_weights.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {

// The recipe, with settings that it leaves open (model, classes, image size, label smoothing, final_relu,
// exif_orientation) taken from the file, checked. An Error if the two contradict each other, or if neither names the
// model.
Recipe adopt_weights(Recipe recipe, const StoredWeights& weights);

}  // namespace ridgeline::train
