// ridgeline/cli/optimization_flags.h
//
// What the options about optimizer, schedule and parameter groups become in the recipe.
#pragma once

#include "ridgeline/cli/flags.h"
#include "ridgeline/train/recipe/arguments.h"

namespace ridgeline::cli {

// Fills the recipe; refuses values that are no numbers, and arguments that the optimizer or the schedule does not read.
void finish_optimization_flags(const Command& app, const train::RecipeArguments& arguments, train::Recipe& recipe);

}  // namespace ridgeline::cli
