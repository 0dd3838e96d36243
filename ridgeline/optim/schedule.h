// ridgeline/optim/schedule.h
//
// Learning-rate laws. A law is a plain value; it is evaluated either here, as a number, or inside the step graph, as a
// scalar subgraph over `global_step`, so that a compiled or exported step carries its own schedule. Both do the same
// operations on doubles in the same order and give the same bits. Stateless: any thread.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <variant>
#include <vector>

#include "ridgeline/graph/ir/builder.h"

namespace ridgeline::optim {

struct Constant {
  double base = 0.01;
};

// base * factor^(boundaries passed): a boundary b has passed at step b and after it.
struct StepDecay {
  double base = 0.01;
  double factor = 0.1;
  std::vector<std::int64_t> boundaries = {};  // steps, strictly increasing
};

// The recipe's law, for the step of index i (the first is 0), W = warmup_epochs * steps_per_epoch:
//   i < W:  base * (i + 1) / W
//   else:   base * (1 + cos(pi * floor(i / steps_per_epoch) / epochs)) / 2, one value an epoch
// From i = epochs * steps_per_epoch on, the last value stays.
struct WarmupCosine {
  double base = 0.06;
  std::int64_t steps_per_epoch = 0;
  std::int64_t warmup_epochs = 5;
  std::int64_t epochs = 150;
};

using Schedule = std::variant<Constant, StepDecay, WarmupCosine>;

// An Error names the setting that cannot be: a negative or infinite rate, no steps in an epoch, ...
void check(const Schedule& schedule);
// The rate of the step of index `step` (0 is the first step of the run).
double learning_rate(const Schedule& schedule, std::int64_t step);
// The same inside a graph: global_step i64[] is the index of the running step. Result f64[].
Value learning_rate(const Schedule& schedule, Value global_step,
                    const std::source_location& at = std::source_location::current());

}  // namespace ridgeline::optim
