// ridgeline/train/recipe/bench.h
//
// Times the compiled training step on random data and relates it to the machine's limit, measured in the same run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ridgeline/compile/run/balance.h"
#include "ridgeline/compile/run/measure.h"
#include "ridgeline/train/recipe/recipe.h"
#include "ridgeline/train/step_timeline.h"

namespace ridgeline::train {

struct StepBench {
  RunTimes times;         // of the steps
  double ready = 0;       // milliseconds from the start of the process until the step was compiled and its values drawn
  double first_step = 0;  // until the first step was finished
  double images_per_second = 0;
  double gflops = 0;                   // nominal work (2 per multiply-add of the layers as defined) per second
  double peak_gflops = 0;              // measured
  double roofline_share = 0;           // gflops / peak_gflops; above 1 if an algorithm needs fewer multiplications
  DeviceRates limits;                  // measured
  double milliseconds_at_limit = 0;    // of the launches, each at the machine's limit (compile/run/measure.h)
  std::string isa;                     // of the device (Device::architecture)
  int threads = 0;                     // of the team
  std::vector<LaunchReport> launches;  // of the last step, in order
  comm::StepTimeline timeline;         // of the same step, for planning
  LaunchCounts counts;                 // of a step
  LaunchCounts unfused;                // of the same step without the passes that merge ops
  std::vector<std::pair<std::string, LaunchCounts>> without;  // with one such pass disabled, by name
  MemoryReport memory;
  std::vector<std::string> warnings;  // what makes the step slow
};

// With `each_fusion` the passes that merge ops are also counted one by one.
StepBench bench_step(const Recipe& recipe, int steps, bool each_fusion = false);

struct RecordedStep {
  StepBalance balance;
  std::vector<LaunchReport> launches;  // with each launch's work
  std::string isa;
};
// How the step divides its work among a team of `threads` threads, which the machine need not have: the step compiled
// for that team, with all pieces of work run one after the other on one thread. An Error (usage) if launches run side
// by side or on another device than the CPU.
RecordedStep record_step(Recipe recipe, int threads);

}  // namespace ridgeline::train
