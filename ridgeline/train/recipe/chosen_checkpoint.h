// ridgeline/train/recipe/chosen_checkpoint.h
//
// Which of a run's checkpoints a recipe selects. Functions only.
#pragma once

#include <functional>
#include <string>

#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {

// The recipe with the file that its `checkpoint` names ("best", "last" or a step), in the folder of its weights or else
// in checkpoint_dir, as its weights; unchanged if it names none. If the checkpoint is missing, an Error says which
// there are.
Recipe with_chosen_checkpoint(Recipe recipe, const std::function<void(std::string)>& warn);

// A hint for users of the newest checkpoint of a folder: "the best evaluation was that of step 8 ...", if it was
// another one; else empty.
std::string better_than_newest(const std::string& directory);

}  // namespace ridgeline::train
