// ridgeline/compile/run/measure.h
//
// Measures a compiled program: its time, compared with the device's limits, and where the difference is.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ridgeline/compile/run/program.h"
#include "ridgeline/device/rates.h"

namespace ridgeline {

struct RunTimes {
  double milliseconds = 0;  // median
  double fastest = 0;
  double slowest = 0;
  int runs = 0;
};
// Times `runs` runs after two warm-up runs, which touch memory and let the library generate its code; after one if a
// run takes a second. On an asynchronous device all runs are timed as one sequence, after a few that are recorded,
// since waiting for each run would add to its time; then every time is the mean.
RunTimes time_runs(Program& program, int runs);

// Milliseconds that a launch would take if it were bound by the device alone (Device::measured_rates, the best): by its
// kernel's arithmetic, or by moving its operands and results once, whichever takes longer.
double milliseconds_at_limit(const LaunchReport& launch, const DeviceRates& limits);
// The sum over the launches of the last run.
double milliseconds_at_limit(std::span<const LaunchReport> launches, const DeviceRates& limits);

// For each launch of the last profiled run, the milliseconds before it in which none ran.
std::vector<double> gaps_before(std::span<const LaunchReport> launches);

// The launches of one kind of op together.
struct StepPart {
  std::string op;  // "conversions" for changes of layout, copies and derived forms
  int launches = 0;
  double milliseconds = 0;
  double at_limit = 0;
  double gflop = 0;  // by the formulas of the ops
  double gflop_done = 0;
  double megabytes = 0;
  std::string longest;  // the name of the launch that is farthest from its limit
  double gap() const { return milliseconds - at_limit; }
};
// The kinds of ops of the last profiled run, the one that is farthest from its limit first.
std::vector<StepPart> parts_of(std::span<const LaunchReport> launches, const DeviceRates& limits);

}  // namespace ridgeline
