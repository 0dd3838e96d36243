// ridgeline/optim/optimizers.h
//
// The table by which a recipe names an optimizer.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ridgeline/optim/optimizer.h"

namespace ridgeline::optim {

// The recipe's settings of its optimizer; unset means the optimizer's own default.
struct OptimizerArguments {
  std::optional<double> momentum;
  std::optional<bool> nesterov;
  std::optional<double> beta1;
  std::optional<double> beta2;
  std::optional<double> epsilon;
  std::optional<double> rho;
  std::optional<double> trust;
};

// One of these settings by its name, for callers that take them as text or from another language.
struct OptimizerArgument {
  std::string_view name;
  std::string_view line;  // what it is, with its range
  std::optional<double> OptimizerArguments::*real = nullptr;
  std::optional<bool> OptimizerArguments::*flag = nullptr;  // one of the two
};
std::span<const OptimizerArgument> optimizer_arguments();

struct OptimizerEntry {
  std::string_view name;
  std::string_view line;                    // one line, for help and docs
  std::vector<std::string_view> arguments;  // which settings it reads, by their names above
  Optimizer (*make)(const OptimizerArguments&);
  OptimizerArguments defaults = {};  // its defaults for those
};
std::span<const OptimizerEntry> optimizers();
// An Error (usage) for an unknown name, with the nearest one and all.
const OptimizerEntry& optimizer_named(std::string_view name);

}  // namespace ridgeline::optim
