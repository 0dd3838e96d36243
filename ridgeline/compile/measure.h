// ridgeline/compile/measure.h
//
// What a compiled program costs: launches, bytes, and its time beside what the machine could do at best.
#pragma once

#include <cstddef>

#include "ridgeline/compile/program.h"

namespace ridgeline {

// What every run does, copies and changes of layout included.
struct ProgramWork {
  std::size_t launches = 0;
  std::size_t read = 0;     // bytes, each buffer once a launch
  std::size_t written = 0;  // bytes
};
ProgramWork work_of(const Program& program);

struct RunTimes {
  double milliseconds = 0;  // median
  double fastest = 0;
  double slowest = 0;
  int runs = 0;
};
// Times `runs` runs after two that touch memory and let the library make its code.
RunTimes time_runs(Program& program, int runs);

// Milliseconds that the launches would take if each were bound by the machine alone: by arithmetic at `gflops` or by
// its operands and results moved once at `gigabytes` a second, whichever takes longer.
double milliseconds_at_limit(const Program& program, double gflops, double gigabytes);

}  // namespace ridgeline
