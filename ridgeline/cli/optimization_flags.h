// ridgeline/cli/optimization_flags.h
//
// The flags that say how parameters are learned: batch, length, learning rate, optimizer, parameter groups.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/cli/flags.h"
#include "ridgeline/optim/adam.h"
#include "ridgeline/optim/lars.h"
#include "ridgeline/optim/rmsprop.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::cli {

// As typed, where that is not yet what the recipe holds.
struct OptimizationFlags {
  double momentum = optim::Momentum{}.momentum, beta1 = optim::Adam{}.beta1, beta2 = optim::Adam{}.beta2,
         epsilon = optim::Adam{}.epsilon, rho = optim::RmsProp{}.rho, trust = optim::Lars{}.trust;
  bool nesterov = optim::Momentum{}.nesterov;
  std::string decay_epochs;
  std::vector<std::string> frozen, scaled;
};

void add_optimization_flags(Command& app, OptimizationFlags& flags, train::Recipe& recipe,
                            std::int64_t& max_train_steps);
// Fills the recipe; refuses values that are no numbers, and arguments that the optimizer or the schedule does not read.
void finish_optimization_flags(const Command& app, const OptimizationFlags& flags, train::Recipe& recipe);

}  // namespace ridgeline::cli
