// ridgeline/optim/schedules.h
//
// The library's learning-rate schedules, and the table by which a recipe names one. In all formulas i is the index of
// the step, 0 for the first; rates are what the optimizer multiplies. Settings are checked when a Schedule is made from
// them: an Error (usage) names an invalid one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ridgeline/optim/schedule.h"

namespace ridgeline::optim {

struct Constant {
  double base = 0.01;
  void check() const;
  loop::Expr rate(loop::Expr i) const;
};

// base * factor^floor(i / every): PyTorch's StepLR.
struct StepDecay {
  double base = 0.01;
  double factor = 0.1;
  std::int64_t every = 0;  // steps
  void check() const;
  loop::Expr rate(loop::Expr i) const;
};

// base * factor^(boundaries passed): a boundary b has passed at step b and after it. PyTorch's MultiStepLR.
struct MultiStep {
  double base = 0.01;
  double factor = 0.1;
  std::vector<std::int64_t> boundaries = {};  // steps, strictly increasing
  void check() const;
  loop::Expr rate(loop::Expr i) const;
};

// base * factor^(i / every), without stairs.
struct Exponential {
  double base = 0.01;
  double factor = 0.1;
  std::int64_t every = 1;  // steps
  void check() const;
  loop::Expr rate(loop::Expr i) const;
};

// (base - end) * (1 - min(i, steps) / steps)^power + end: TensorFlow's polynomial_decay.
struct Polynomial {
  double base = 0.01;
  double end = 0;
  std::int64_t steps = 0;
  double power = 1;
  void check() const;
  loop::Expr rate(loop::Expr i) const;
};

// end + (base - end) * (1 + cos(pi * min(i, steps) / steps)) / 2, another value each step.
struct Cosine {
  double base = 0.01;
  double end = 0;
  std::int64_t steps = 0;
  void check() const;
  loop::Expr rate(loop::Expr i) const;
};

// The published AlexNet recipe's schedule, with W = warmup_epochs * steps_per_epoch:
//   i < W:  base * (i + 1) / W
//   else:   base * (1 + cos(pi * floor(i / steps_per_epoch) / epochs)) / 2, one value an epoch
// From i = epochs * steps_per_epoch on, the last value stays.
struct WarmupCosine {
  double base = 0.06;
  std::int64_t steps_per_epoch = 0;
  std::int64_t warmup_epochs = 5;
  std::int64_t epochs = 150;
  void check() const;
  loop::Expr rate(loop::Expr i) const;
};

// PyTorch's OneCycleLR with cosine arcs and two phases, p = rise * steps - 1 the index of the peak:
//   i <= p: from peak / start_factor up to peak;  then down to peak / start_factor / end_factor at i = steps - 1.
struct OneCycle {
  double peak = 0.1;
  std::int64_t steps = 0;
  double rise = 0.3;  // share of the steps before the peak
  double start_factor = 25;
  double end_factor = 1e4;
  void check() const;
  loop::Expr rate(loop::Expr i) const;
};

// i < steps: then(0) * (i + 1) / steps; else then(i - steps). Can precede any schedule.
struct Warmup {
  std::int64_t steps = 0;
  Schedule then;
  void check() const;
  loop::Expr rate(loop::Expr i) const;
};

// The recipe's settings of its schedule.
struct ScheduleArguments {
  double lr = 0.01;
  std::int64_t steps_per_epoch = 0;
  std::int64_t epochs = 0;
  std::int64_t warmup_epochs = 0;
  double factor = 0.1;
  std::vector<std::int64_t> decay_epochs = {};
  double end = 0;
  double power = 1;
};

// One of these settings by its name, for callers that take them as text or from another language.
struct ScheduleArgument {
  std::string_view name;
  std::string_view line;  // what it is, with its unit
  std::variant<double ScheduleArguments::*, std::int64_t ScheduleArguments::*,
               std::vector<std::int64_t> ScheduleArguments::*>
      field;
};
std::span<const ScheduleArgument> schedule_arguments();

struct ScheduleEntry {
  std::string_view name;
  std::string_view line;                    // one line, for help and docs
  std::vector<std::string_view> arguments;  // which settings it reads in addition to lr and the epochs
  Schedule (*make)(const ScheduleArguments&);
  bool warms_up = true;  // reads warmup_epochs
};
std::span<const ScheduleEntry> schedules();
// An Error (usage) for an unknown name, with the nearest one and all.
const ScheduleEntry& schedule_named(std::string_view name);

}  // namespace ridgeline::optim
