// ridgeline/train/recipe/adopt.h
//
// What a file of weights says of the model that it is of.
#pragma once

#include "ridgeline/train/checkpoint/stored_weights.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {

// The recipe with what the file says (model, classes, image size, label smoothing, final_relu, exif_orientation) where
// the recipe says nothing, checked. An Error where both say something and it differs, and where neither tells the
// model.
Recipe adopt_weights(Recipe recipe, const StoredWeights& weights);

}  // namespace ridgeline::train
