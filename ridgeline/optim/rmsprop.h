// ridgeline/optim/rmsprop.h
//
// RMSProp as in PyTorch: s = g + weight_decay w; v' = rho v + (1 - rho) s^2; d = s / (sqrt(v') + epsilon); without
// momentum w' = w - lr d, else m' = momentum m + d and w' = w - lr m'.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/optim/optimizer.h"

namespace ridgeline::optim {

struct RmsProp {
  double rho = 0.99;    // in [0, 1)
  double momentum = 0;  // in [0, 1); 0: without its slot
  double epsilon = 1e-8;

  void check() const;
  std::vector<std::string> slots() const;
  bool coupled() const { return true; }
  std::vector<Value> scalars(const StepValues& step) const { return {step.rate}; }
  std::vector<Value> next(const ParameterUpdate& update) const;
};

}  // namespace ridgeline::optim
