// ridgeline/optim/momentum.h
//
// Stochastic gradient descent, with momentum or without:
//   g' = g + weight_decay * w;  a = momentum * m + g';  w -= lr * (nesterov ? g' + momentum * a : a);  m = a
// (TensorFlow's MomentumOptimizer; PyTorch's SGD with dampening 0 does the same.) Stateless: it builds ops.
#pragma once

#include <source_location>
#include <string>

#include "ridgeline/graph/ir/builder.h"

namespace ridgeline::optim {

struct Momentum {
  double momentum = 0.9;  // 0: plain gradient descent, no slot
  bool nesterov = true;
  double weight_decay = 0.0001;  // of the L2 penalty: weight_decay * sum(w^2) / 2 over all trainables
};

// Error unless momentum is in [0,1) and weight_decay is finite and not negative.
void check(const Momentum& optimizer);
// The name of the slot that belongs to a parameter: "dense/kernel/momentum".
std::string momentum_slot(const std::string& parameter);

// Adds the update of one parameter, and of its slot unless momentum is 0 (`slot` may then be undefined).
// learning_rate f32[]. `weight_decay` is the coupled term; 0 where the gradient has it already.
void update(const Momentum& optimizer, Value parameter, Value slot, Value gradient, Value learning_rate,
            double weight_decay, const std::source_location& at = std::source_location::current());

}  // namespace ridgeline::optim
