// ridgeline/cli/optimization_flags.h
//
// The flags that say how parameters are learned: batch, length, learning rate, optimizer, parameter groups.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/cli/flags.h"
#include "ridgeline/train/recipe.h"

namespace ridgeline::cli {

// As typed, where that is not yet what the recipe holds.
struct OptimizationFlags {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, rho = 0.99, trust = 0.001;
  std::string decay_epochs;
  std::vector<std::string> frozen, scaled;
};

void add_optimization_flags(Command& app, OptimizationFlags& flags, train::Recipe& recipe,
                            std::int64_t& max_train_steps);
// Fills the recipe; refuses values that are no numbers, and arguments that the optimizer or the schedule does not read.
void finish_optimization_flags(const Command& app, const OptimizationFlags& flags, train::Recipe& recipe);

}  // namespace ridgeline::cli
