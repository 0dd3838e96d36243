// ridgeline/compile/run/measure.h
//
// What a compiled program takes: its time, beside what the device could do at best, and where the difference lies.
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
// Times `runs` runs after two that touch memory and let the library make its code; after one where it takes a second.
// On a device that runs behind the host as one loop, after a few that are recorded: waiting for each run would be a
// part of its time. All times are the mean then.
RunTimes time_runs(Program& program, int runs);

// Milliseconds that a launch would take if it were bound by the device alone (Device::measured_rates, the best): by the
// arithmetic that its kernel does, or by its operands and results moved once, whichever takes longer.
double milliseconds_at_limit(const LaunchReport& launch, const DeviceRates& limits);
// The sum over those of the last run.
double milliseconds_at_limit(std::span<const LaunchReport> launches, const DeviceRates& limits);

// Milliseconds before each launch, by its place, in which none ran, in the last profiled run.
std::vector<double> gaps_before(std::span<const LaunchReport> launches);

// The launches of one kind of op together.
struct StepPart {
  std::string op;  // "conversions" for changes of layout, copies and forms
  int launches = 0;
  double milliseconds = 0;
  double at_limit = 0;
  double gflop = 0;  // by the formulas of the ops
  double gflop_done = 0;
  double megabytes = 0;
  std::string longest;  // the name of the launch that is farthest from its limit
  double gap() const { return milliseconds - at_limit; }
};
// The kinds of ops of the last profiled run, that which is farthest from its limit first.
std::vector<StepPart> parts_of(std::span<const LaunchReport> launches, const DeviceRates& limits);

}  // namespace ridgeline
