// ridgeline/cli/recipe_flags.h
//
// The options of the recipe (train/recipe/options.h) as flags of a command, and the recipe that they make.
#pragma once

#include <initializer_list>
#include <string_view>

#include "ridgeline/cli/flags.h"
#include "ridgeline/train/recipe/arguments.h"

namespace ridgeline::cli {

// Adds all flags of a recipe.
void add_recipe_flags(Command& app, train::RecipeArguments& arguments);
// Adds the flags that do something in an evaluation of checkpoints. Call refuse_training_flags() before parsing: it
// says of the recipe's other flags that they are for trainings, where the parser would call them unknown.
void add_evaluation_flags(Command& app, train::RecipeArguments& arguments);
void refuse_training_flags(const std::vector<std::string>& words);
// Adds some flags, by name, under one heading.
void add_recipe_flags(Command& app, train::RecipeArguments& arguments, std::initializer_list<std::string_view> names,
                      const std::string& group = "Options");
// The words of the command line, behind what the file of their --run_config says, as flags: the last of two counts.
// `off` gets the settings that the file switches off.
std::vector<std::string> with_run_config(const std::vector<std::string>& words, std::vector<std::string>& off);
// Behind both, the preset's before those of the run configuration; of them, what `app` has no flag for is left out.
std::vector<std::string> with_files(const Command& app, const std::vector<std::string>& words);
// The recipe as given; refuses what is not supported, warns once where a flag has no effect, checks ranges.
train::Recipe finish_recipe(const Command& app, train::RecipeArguments& arguments);
// Of it, what a sample that cannot be made does: an unknown policy, and a budget or a quarantine under `raise`, which
// has no use for them, are usage Errors.
data::BadSampleOptions finish_bad_samples(const Command& app, const train::RecipeArguments& arguments);

}  // namespace ridgeline::cli
