#include "ridgeline/optim/optimizers.h"

#include "ridgeline/core/error.h"
#include "ridgeline/optim/adam.h"
#include "ridgeline/optim/lars.h"
#include "ridgeline/optim/momentum.h"
#include "ridgeline/optim/rmsprop.h"

namespace ridgeline::optim {
namespace {

Adam adam(const OptimizerArguments& a, bool decoupled) {
  return {.beta1 = a.beta1.value_or(0.9),
          .beta2 = a.beta2.value_or(0.999),
          .epsilon = a.epsilon.value_or(1e-8),
          .decoupled = decoupled};
}

const OptimizerEntry kOptimizers[] = {
    {"momentum",
     "gradient descent with momentum, Nesterov's or the plain one",
     {"momentum", "nesterov"},
     [](const OptimizerArguments& a) -> Optimizer { return Momentum{a.momentum, a.nesterov}; }},
    {"sgd",
     "gradient descent without momentum",
     {},
     [](const OptimizerArguments&) -> Optimizer { return Momentum{.momentum = 0}; }},
    {"adam",
     "Adam; weight decay is part of the gradient",
     {"beta1", "beta2", "epsilon"},
     [](const OptimizerArguments& a) -> Optimizer { return adam(a, false); }},
    {"adamw",
     "Adam with weight decay beside the gradient",
     {"beta1", "beta2", "epsilon"},
     [](const OptimizerArguments& a) -> Optimizer { return adam(a, true); }},
    {"rmsprop",
     "steps divided by the root of the mean square of gradients",
     {"momentum", "rho", "epsilon"},
     [](const OptimizerArguments& a) -> Optimizer {
       return RmsProp{.rho = a.rho.value_or(0.99), .momentum = a.momentum, .epsilon = a.epsilon.value_or(1e-8)};
     }},
    {"lars",
     "momentum over gradients scaled to their parameter's norm",
     {"momentum", "nesterov", "trust", "epsilon"},
     [](const OptimizerArguments& a) -> Optimizer {
       return Lars{.momentum = a.momentum,
                   .nesterov = a.nesterov,
                   .trust = a.trust.value_or(0.001),
                   .epsilon = a.epsilon.value_or(1e-8)};
     }},
    {"lamb",
     "AdamW's direction scaled to the parameter's norm",
     {"beta1", "beta2", "epsilon"},
     [](const OptimizerArguments& a) -> Optimizer {
       return Lamb{a.beta1.value_or(0.9), a.beta2.value_or(0.999), a.epsilon.value_or(1e-6)};
     }},
};

}  // namespace

std::span<const OptimizerEntry> optimizers() { return kOptimizers; }

const OptimizerEntry& optimizer_named(std::string_view name) {
  std::vector<std::string> names;
  std::string all;
  for (const OptimizerEntry& entry : kOptimizers) {
    if (entry.name == name) return entry;
    names.emplace_back(entry.name);
    all += (all.empty() ? "" : ", ") + names.back();
  }
  throw Error("unknown optimizer '" + std::string(name) + "'" + did_you_mean(name, names) + " (allowed: " + all + ")",
              ErrorKind::usage);
}

}  // namespace ridgeline::optim
