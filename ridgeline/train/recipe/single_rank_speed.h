// ridgeline/train/recipe/single_rank_speed.h
//
// The reference for the speed of several ranks: images per second of one of them alone, on the same kind of data.
#pragma once

#include <cstdint>

#include "ridgeline/train/recipe/datasets.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {

// Trains a temporary model for a few steps of `recipe` without the other ranks, whose devices are idle meanwhile.
// `recipe` as train() has it, `data` open. Takes the memory of a step until it returns. 0 where the user interrupted
// it.
double single_rank_speed(const Recipe& recipe, const RunData& data);

}  // namespace ridgeline::train
