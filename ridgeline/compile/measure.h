// ridgeline/compile/measure.h
//
// What a compiled program takes: its time, beside what the machine could do at best.
#pragma once

#include <span>

#include "ridgeline/compile/program.h"

namespace ridgeline {

struct RunTimes {
  double milliseconds = 0;  // median
  double fastest = 0;
  double slowest = 0;
  int runs = 0;
};
// Times `runs` runs after two that touch memory and let the library make its code.
RunTimes time_runs(Program& program, int runs);

// Milliseconds that the launches of the last run would take if each were bound by the machine alone: by arithmetic at
// `gflops` or by its operands and results moved once at `gigabytes` a second, whichever takes longer.
double milliseconds_at_limit(std::span<const LaunchReport> launches, double gflops, double gigabytes);

}  // namespace ridgeline
