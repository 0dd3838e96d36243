// ridgeline/optim/lars.h
//
// LARS (You, Gitman and Ginsburg, 2017): momentum over gradients that are scaled to their parameter,
//   s = trust |w| / (|g| + weight_decay |w| + epsilon);  g' = s (g + weight_decay w);  then as Momentum without decay.
// s is 1 if a norm is 0, and for parameters that do not decay.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/optim/momentum.h"

namespace ridgeline::optim {

struct Lars {
  double momentum = 0.9;  // in [0, 1)
  bool nesterov = false;
  double trust = 0.001;
  double epsilon = 1e-8;

  void check() const;
  std::vector<std::string> slots() const { return base().slots(); }
  bool coupled() const { return true; }
  std::vector<Value> scalars(const StepValues& step) const { return {step.rate}; }
  std::vector<Value> next(const ParameterUpdate& update) const;

 private:
  Momentum base() const { return {.momentum = momentum, .nesterov = nesterov}; }
};

}  // namespace ridgeline::optim
