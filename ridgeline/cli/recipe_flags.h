// ridgeline/cli/recipe_flags.h
//
// The flags of the recipe, under the names of its script and of its README, bound to a train::Recipe.
#pragma once

#include "ridgeline/cli/bad_sample_flags.h"
#include "ridgeline/cli/flags.h"
#include "ridgeline/cli/optimization_flags.h"
#include "ridgeline/train/recipe.h"

namespace ridgeline::cli {

// Flags that are accepted for the original's sake and checked after parsing.
struct RecipeFlags {
  train::Recipe recipe;
  std::string mode = "train_and_evaluate";
  std::string preset;  // read before the other flags, see presets.h
  std::string run_config;
  std::string alexnet_version;
  std::string label_base = "auto";
  BadSampleFlags bad_samples;
  OptimizationFlags optimization;
  std::string dtype = "tf.float32";
  std::string restore_exclude = "dense_2";
  std::string final_relu;
  std::string accelerate_train_mode;
  double final_loss = 0;
  double dropout_keep = 0;
  std::int64_t max_train_steps = 0;
  std::int64_t rank_size = 0;
  std::int64_t group_size = 0;
  std::string split_by_index;
  std::string split_by_size;
  bool shard = true;
  bool debug = true;
  bool eval = false;
};

// --device and where ops go that it cannot do.
void add_device_flags(Command& app, train::Recipe& recipe, const std::string& group);
// In which types steps compute.
void add_precision_flags(Command& app, train::PrecisionOptions& precision, const std::string& group);
// What kernels must promise.
void add_promise_flags(Command& app, train::Recipe& recipe, const std::string& group);
void add_recipe_flags(Command& app, RecipeFlags& flags);
// The words of the command line, behind what the file of their --run_config says, as flags: the last of two counts.
std::vector<std::string> with_run_config(const std::vector<std::string>& words);
// Behind both, the preset's before those of the run configuration.
std::vector<std::string> with_files(const Command& app, const std::vector<std::string>& words);
// The recipe as given; refuses what is not supported, warns once where a flag has no effect, checks ranges.
train::Recipe finish_recipe(const Command& app, RecipeFlags& flags);

}  // namespace ridgeline::cli
