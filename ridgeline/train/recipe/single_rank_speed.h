// ridgeline/train/recipe/single_rank_speed.h
//
// What the speed of several ranks is compared with: images a second of one of them alone, on the same kind of data.
#pragma once

#include <cstdint>

#include "ridgeline/train/recipe/datasets.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {

// Trains a model of its own for a few steps of `recipe` without the other ranks, whose devices rest meanwhile, and
// forgets it. `recipe` as train() has it, `data` open. Takes the memory of a step until it returns. 0 where the user
// interrupted it.
double single_rank_speed(const Recipe& recipe, const RunData& data);

}  // namespace ridgeline::train
