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

// One of them by its name, for who takes them as text or from another language.
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
  std::vector<std::string_view> arguments;  // which it reads, by their names above
  Optimizer (*make)(const OptimizerArguments&);
  OptimizerArguments defaults = {};  // what it takes for those where nothing is said
};
std::span<const OptimizerEntry> optimizers();
// An Error (usage) for an unknown name, with the nearest one and all.
const OptimizerEntry& optimizer_named(std::string_view name);

}  // namespace ridgeline::optim
