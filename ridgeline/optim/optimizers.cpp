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

using A = OptimizerArguments;

constexpr OptimizerArgument kArguments[] = {
    {"momentum", "share of the step before that goes on, in [0, 1)", &A::momentum},
    {"nesterov", "Nesterov's form of momentum", nullptr, &A::nesterov},
    {"beta1", "share of the mean of gradients that is kept, in [0, 1)", &A::beta1},
    {"beta2", "share of the mean of their squares that is kept, in [0, 1)", &A::beta2},
    {"epsilon", "added to what a step is divided by, 0 or more", &A::epsilon},
    {"rho", "share of the mean of squares that is kept, in [0, 1)", &A::rho},
    {"trust", "a parameter's rate for each of its norm over that of its gradient, 0 or more", &A::trust},
};

template <class Rule>
A defaults_of_adam(const Rule& own) {
  return {.beta1 = own.beta1, .beta2 = own.beta2, .epsilon = own.epsilon};
}

const OptimizerEntry kOptimizers[] = {
    {"momentum",
     "gradient descent with momentum, Nesterov's or the plain one",
     {"momentum", "nesterov"},
     [](const OptimizerArguments& a) -> Optimizer {
       const Momentum own;
       return Momentum{a.momentum.value_or(own.momentum), a.nesterov.value_or(own.nesterov)};
     },
     {.momentum = Momentum{}.momentum, .nesterov = Momentum{}.nesterov}},
    {"sgd",
     "gradient descent without momentum",
     {},
     [](const OptimizerArguments&) -> Optimizer { return Momentum{.momentum = 0}; }},
    {"adam",
     "Adam; weight decay is part of the gradient",
     {"beta1", "beta2", "epsilon"},
     [](const OptimizerArguments& a) -> Optimizer { return adam(a, false); },
     defaults_of_adam(Adam{})},
    {"adamw",
     "Adam with weight decay beside the gradient",
     {"beta1", "beta2", "epsilon"},
     [](const OptimizerArguments& a) -> Optimizer { return adam(a, true); },
     defaults_of_adam(Adam{})},
    {"rmsprop",
     "steps divided by the root of the mean square of gradients",
     {"momentum", "rho", "epsilon"},
     [](const OptimizerArguments& a) -> Optimizer {
       const RmsProp own;
       return RmsProp{.rho = a.rho.value_or(own.rho),
                      .momentum = a.momentum.value_or(own.momentum),
                      .epsilon = a.epsilon.value_or(own.epsilon)};
     },
     {.momentum = RmsProp{}.momentum, .epsilon = RmsProp{}.epsilon, .rho = RmsProp{}.rho}},
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
     {.momentum = Lars{}.momentum, .nesterov = Lars{}.nesterov, .epsilon = Lars{}.epsilon, .trust = Lars{}.trust}},
    {"lamb",
     "AdamW's direction scaled to the parameter's norm",
     {"beta1", "beta2", "epsilon"},
     [](const OptimizerArguments& a) -> Optimizer {
       const Lamb own;
       return Lamb{a.beta1.value_or(own.beta1), a.beta2.value_or(own.beta2), a.epsilon.value_or(own.epsilon)};
     },
     defaults_of_adam(Lamb{})},
};

}  // namespace

std::span<const OptimizerArgument> optimizer_arguments() { return kArguments; }
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
