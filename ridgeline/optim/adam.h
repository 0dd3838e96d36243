// ridgeline/optim/adam.h
//
// Adam (Kingma and Ba, 2015), AdamW (Loshchilov and Hutter, 2019) and LAMB (You et al., 2020). With t = 1 for the first
// step, as PyTorch computes it:
//   s = g + weight_decay * w (AdamW, LAMB: g);  m' = beta1 m + (1 - beta1) s;  v' = beta2 v + (1 - beta2) s^2
//   d = m' / (1 - beta1^t) / (sqrt(v') / sqrt(1 - beta2^t) + epsilon)
//   Adam: w' = w - lr d;   AdamW: w' = w - lr (d + weight_decay w)
//   LAMB: r = d + weight_decay w; w' = w - lr (|w| / |r|) r (the ratio is 1 if a norm is 0 or w does not decay)
#pragma once

#include <string>
#include <vector>

#include "ridgeline/optim/optimizer.h"

namespace ridgeline::optim {

struct Adam {
  double beta1 = 0.9;    // in [0, 1)
  double beta2 = 0.999;  // in [0, 1)
  double epsilon = 1e-8;
  bool decoupled = false;  // AdamW

  void check() const;
  std::vector<std::string> slots() const { return {"mean", "mean_square"}; }
  bool coupled() const { return !decoupled; }
  std::vector<Value> scalars(const StepValues& step) const;
  std::vector<Value> next(const ParameterUpdate& update) const;
};

struct Lamb {
  double beta1 = 0.9;    // in [0, 1)
  double beta2 = 0.999;  // in [0, 1)
  double epsilon = 1e-6;

  void check() const;
  std::vector<std::string> slots() const { return {"mean", "mean_square"}; }
  bool coupled() const { return false; }
  std::vector<Value> scalars(const StepValues& step) const;
  std::vector<Value> next(const ParameterUpdate& update) const;
};

}  // namespace ridgeline::optim
