// ridgeline/optim/optimizers.h
//
// The table by which a recipe names an optimizer.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ridgeline/optim/momentum.h"
#include "ridgeline/optim/optimizer.h"

namespace ridgeline::optim {

// What a recipe says about its optimizer; nothing means the optimizer's own default.
struct OptimizerArguments {
  std::optional<double> momentum;
  std::optional<bool> nesterov;
  std::optional<double> beta1;
  std::optional<double> beta2;
  std::optional<double> epsilon;
  std::optional<double> rho;
  std::optional<double> trust;
};

struct OptimizerEntry {
  std::string_view name;
  std::string_view line;                    // one line, for help and docs
  std::vector<std::string_view> arguments;  // which it reads, by their names above
  Optimizer (*make)(const OptimizerArguments&);
  // What it takes where the arguments say nothing.
  double momentum = Momentum{}.momentum;
  bool nesterov = Momentum{}.nesterov;
};
std::span<const OptimizerEntry> optimizers();
// An Error (usage) for an unknown name, with the nearest one and all.
const OptimizerEntry& optimizer_named(std::string_view name);

}  // namespace ridgeline::optim
