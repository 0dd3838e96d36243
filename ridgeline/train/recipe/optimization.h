// ridgeline/train/recipe/optimization.h
//
// A recipe's settings of optimizer, schedule and parameters, by the names of their tables, and the objects made from
// them. Plain values and functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/nn/parameter_groups.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/optim/optimizers.h"
#include "ridgeline/optim/schedules.h"

namespace ridgeline::train {

struct Recipe;

struct Optimization {
  std::string optimizer = "momentum";
  optim::OptimizerArguments arguments;
  std::string schedule = "warmup_cosine";
  double factor = 0.1;                     // of schedules that multiply
  std::vector<std::int64_t> decay_epochs;  // at which multi_step multiplies
  double end = 0;                          // final rate of polynomial and cosine
  double power = 1;                        // of polynomial
  bool decay_vectors = true;               // whether biases and the scales of norms decay
  std::vector<nn::ParameterGroup> groups;
  double clip_norm = 0;
  double clip_value = 0;
  std::int64_t accumulate_steps = 1;  // batches a step
  std::string loss_scale;             // optim::parse_loss_scale; empty: none
  double ema = 0;                     // decay of the parameters' averages; 0: none are kept
};

// How gradients are processed between backward pass and update.
nn::GradientRules gradient_rules(const Recipe& recipe);

// An Error (usage) for an unknown name or a setting out of range.
void check(const Optimization& optimization);
optim::Schedule schedule_of(const Recipe& recipe, std::int64_t steps_per_epoch);
nn::TrainingOptions training_options(const Recipe& recipe, const optim::Schedule& schedule);

// As kept in checkpoints: the settings that differ from the default, "beta1=0.95, epsilon=1e-06"; equal for equal
// settings.
std::string optimizer_settings(const Optimization& optimization);
std::string schedule_settings(const Optimization& optimization);
std::string group_settings(const Optimization& optimization);

}  // namespace ridgeline::train
