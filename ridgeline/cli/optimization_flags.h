// ridgeline/cli/optimization_flags.h
//
// Turns options about optimizer, schedule and parameter groups into fields of the recipe.
#pragma once

#include <string>

#include "ridgeline/cli/flags.h"
#include "ridgeline/train/recipe/arguments.h"

namespace ridgeline::cli {

// Fills the recipe; refuses values that are not numbers, and arguments that the optimizer or the schedule does not
// read.
void finish_optimization_flags(const Command& app, const train::RecipeArguments& arguments, train::Recipe& recipe);

// Whether a setting ("lr_power", without hyphens) is an argument of optimizers or schedules that this one does not
// read. Empty and unknown optimizers and schedules count as reading all.
bool is_unread(const std::string& setting, const std::string& optimizer, const std::string& schedule);

}  // namespace ridgeline::cli
