// ridgeline/train/recipe/arguments.h
//
// A recipe as typed: the recipe itself, and the texts and numbers of options that are converted into its fields later.
// A plain value; options.h says which option writes what.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/optim/adam.h"
#include "ridgeline/optim/lars.h"
#include "ridgeline/optim/momentum.h"
#include "ridgeline/optim/rmsprop.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {

struct RecipeArguments {
  Recipe recipe;
  std::string preset;      // read before all others
  std::string run_config;  // likewise

  std::string mode = "train_and_evaluate";
  std::string label_base = "auto";
  std::string bad_samples = "raise";
  std::string alexnet_version;
  std::string restore_exclude = "dense_2";
  std::string decay_epochs;                 // of multi_step, by commas
  std::string metrics;                      // by commas
  std::string max_time;                     // see duration.h
  std::vector<std::string> frozen, scaled;  // patterns; PATTERN=FACTOR
  std::string accelerate_train_mode;
  double final_loss = 0, dropout_keep = 0;
  std::int64_t max_train_steps = 0;
  double momentum = optim::Momentum{}.momentum, beta1 = optim::Adam{}.beta1, beta2 = optim::Adam{}.beta2,
         epsilon = optim::Adam{}.epsilon, rho = optim::RmsProp{}.rho, trust = optim::Lars{}.trust;
  bool nesterov = optim::Momentum{}.nesterov;

  // Only for compatibility with the original.
  std::string dtype = "tf.float32";
  std::int64_t rank_size = 0, group_size = 0;
  std::string split_by_index, split_by_size;  // by commas
  bool debug = true, eval = false;
};

}  // namespace ridgeline::train
