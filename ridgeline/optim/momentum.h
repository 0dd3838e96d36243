// ridgeline/optim/momentum.h
//
// Stochastic gradient descent, with momentum or without:
//   g' = g + weight_decay * w;  a = momentum * m + g';  w -= lr * (nesterov ? g' + momentum * a : a);  m = a
// (TensorFlow's MomentumOptimizer; PyTorch's SGD with dampening 0 does the same.)
#pragma once

#include <string>
#include <vector>

#include "ridgeline/optim/optimizer.h"

namespace ridgeline::optim {

struct Momentum {
  double momentum = 0.9;  // in [0, 1); 0: plain gradient descent, no slot
  bool nesterov = true;

  void check() const;
  std::vector<std::string> slots() const;
  bool coupled() const { return true; }
  std::vector<Value> scalars(const StepValues& step) const { return {step.rate}; }
  std::vector<Value> next(const ParameterUpdate& update) const;
};

}  // namespace ridgeline::optim
