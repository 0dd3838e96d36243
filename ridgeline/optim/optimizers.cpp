#include "ridgeline/optim/optimizers.h"

#include "ridgeline/core/error.h"
#include "ridgeline/optim/adam.h"
#include "ridgeline/optim/lars.h"
#include "ridgeline/optim/momentum.h"
#include "ridgeline/optim/rmsprop.h"

namespace ridgeline::optim {
namespace {

Adam adam(const OptimizerArguments& a, bool decoupled) {
  const Adam own;
  return {.beta1 = a.beta1.value_or(own.beta1),
          .beta2 = a.beta2.value_or(own.beta2),
          .epsilon = a.epsilon.value_or(own.epsilon),
          .decoupled = decoupled};
}

const OptimizerEntry kOptimizers[] = {
    {"momentum",
     "gradient descent with momentum, Nesterov's or the plain one",
     {"momentum", "nesterov"},
     [](const OptimizerArguments& a) -> Optimizer {
       const Momentum own;
       return Momentum{a.momentum.value_or(own.momentum), a.nesterov.value_or(own.nesterov)};
     }},
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
       const RmsProp own;
       return RmsProp{.rho = a.rho.value_or(own.rho),
                      .momentum = a.momentum.value_or(own.momentum),
                      .epsilon = a.epsilon.value_or(own.epsilon)};
     },
     RmsProp{}.momentum},
    {"lars",
     "momentum over gradients scaled to their parameter's norm",
     {"momentum", "nesterov", "trust", "epsilon"},
     [](const OptimizerArguments& a) -> Optimizer {
       const Lars own;
       return Lars{.momentum = a.momentum.value_or(own.momentum),
                   .nesterov = a.nesterov.value_or(own.nesterov),
                   .trust = a.trust.value_or(own.trust),
                   .epsilon = a.epsilon.value_or(own.epsilon)};
     },
     Lars{}.momentum,
     Lars{}.nesterov},
    {"lamb",
     "AdamW's direction scaled to the parameter's norm",
     {"beta1", "beta2", "epsilon"},
     [](const OptimizerArguments& a) -> Optimizer {
       const Lamb own;
       return Lamb{a.beta1.value_or(own.beta1), a.beta2.value_or(own.beta2), a.epsilon.value_or(own.epsilon)};
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
