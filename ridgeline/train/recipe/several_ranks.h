// ridgeline/train/recipe/several_ranks.h
//
// The recipe for one of several ranks that train together, and what they cannot do.
#pragma once

#include <string>

#include "ridgeline/train/ranks/ranks.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {

// The recipe with the rank's number; without the outputs that only the writing rank makes.
Recipe for_rank(const Recipe& given, const RunRanks& ranks);

// An Error (usage) names a flag that several ranks, or these, do not support.
void check_ranks(const Recipe& recipe);

// For the log of the rank that writes.
std::string ranks_text(const Recipe& recipe);

}  // namespace ridgeline::train
