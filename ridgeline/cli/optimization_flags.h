// ridgeline/cli/optimization_flags.h
//
// What the options about optimizer, schedule and parameter groups become in the recipe.
#pragma once

#include <string>

#include "ridgeline/cli/flags.h"
#include "ridgeline/train/recipe/arguments.h"

namespace ridgeline::cli {

// Fills the recipe; refuses values that are no numbers, and arguments that the optimizer or the schedule does not read.
void finish_optimization_flags(const Command& app, const train::RecipeArguments& arguments, train::Recipe& recipe);

// Whether a setting ("lr_power", without hyphens) is an argument of optimizers or schedules that this one does not
// read. Empty names, and those that are no optimizer's or schedule's, read all.
bool is_unread(const std::string& setting, const std::string& optimizer, const std::string& schedule);

}  // namespace ridgeline::cli
