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
// Adds the flags that have an effect in an evaluation of checkpoints. Call refuse_training_flags() before parsing: it
// reports the recipe's other flags as being for trainings, where the parser would call them unknown.
void add_evaluation_flags(Command& app, train::RecipeArguments& arguments);
void refuse_training_flags(const std::vector<std::string>& words);
// Adds some flags, by name, under one heading.
void add_recipe_flags(Command& app, train::RecipeArguments& arguments, std::initializer_list<std::string_view> names,
                      const std::string& group = "Options");
// The settings of the --run_config file as flags, then the words of the command line: the last of two counts. `off`
// gets the settings that the file switches off.
std::vector<std::string> with_run_config(const std::vector<std::string>& words, std::vector<std::string>& off);
// The words of the command line after those of both files, the preset's before the run configuration's; settings of
// files for which `app` has no flag are left out.
std::vector<std::string> with_files(const Command& app, const std::vector<std::string>& words);
// The recipe as given; refuses what is not supported, warns once if a flag has no effect, checks ranges.
train::Recipe finish_recipe(const Command& app, train::RecipeArguments& arguments);
// The recipe's options for bad samples: an unknown policy, and a budget or a quarantine with `raise`, which does not
// use them, are usage Errors.
data::BadSampleOptions finish_bad_samples(const Command& app, const train::RecipeArguments& arguments);

}  // namespace ridgeline::cli
