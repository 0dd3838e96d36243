// ridgeline/train/recipe/chosen_checkpoint.h
//
// Which of a run's checkpoints a recipe means. Functions only.
#pragma once

#include <functional>
#include <string>

#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {

// The recipe with the file that its `checkpoint` names ("best", "last" or a step), in the folder of its weights or else
// in checkpoint_dir, as its weights; as it is where it names none. An Error says what there is instead.
Recipe with_chosen_checkpoint(Recipe recipe, const std::function<void(std::string)>& warn);

// For whoever takes the newest checkpoint of a folder: "the best evaluation was that of step 8 ...", where it was not
// that one; else empty.
std::string better_than_newest(const std::string& directory);

}  // namespace ridgeline::train
