#include "ridgeline/compile/run/measure.h"

#include <algorithm>
#include <chrono>
#include <map>

namespace ridgeline {

namespace {

// In a run that takes so long the extra cost of first runs does not matter.
constexpr double kLong = 1000;  // milliseconds

double milliseconds_of(Program& program) {
  const auto begin = std::chrono::steady_clock::now();
  program.run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

RunTimes time_loop(Program& program, int runs) {
  constexpr int kRecorded = 4;  // each set of inputs, behind the runs that were given launch by launch
  program.run_loop(kRecorded, [] { return true; });
  const auto begin = std::chrono::steady_clock::now();
  program.run_loop(runs, [] { return true; });
  const double mean =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count() / runs;
  return {.milliseconds = mean, .fastest = mean, .slowest = mean, .runs = runs};
}

}  // namespace

RunTimes time_runs(Program& program, int runs) {
  if (milliseconds_of(program) < kLong) program.run();
  if (program.runs_behind()) return time_loop(program, runs);
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) times.push_back(milliseconds_of(program));
  std::sort(times.begin(), times.end());
  return {.milliseconds = times[times.size() / 2], .fastest = times.front(), .slowest = times.back(), .runs = runs};
}

double milliseconds_at_limit(const LaunchReport& launch, const DeviceRates& limits) {
  return std::max(launch.flops_done / limits.flops(launch.products), launch.cost.bytes / limits.memory_bytes) * 1e3;
}

double milliseconds_at_limit(std::span<const LaunchReport> launches, const DeviceRates& limits) {
  double milliseconds = 0;
  for (const LaunchReport& launch : launches) {
    if (launch.ran) milliseconds += milliseconds_at_limit(launch, limits);
  }
  return milliseconds;
}

std::vector<double> gaps_before(std::span<const LaunchReport> launches) {
  std::vector<double> gaps(launches.size(), 0.0);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (launches[i].ran) order.push_back(i);
  }
  // Side by side, launches do not start in the order of the plan.
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return launches[a].started < launches[b].started; });
  double end = 0;
  for (const std::size_t i : order) {
    gaps[i] = std::max(0.0, launches[i].started - end);
    end = std::max(end, launches[i].started + launches[i].milliseconds);
  }
  return gaps;
}

std::vector<StepPart> parts_of(std::span<const LaunchReport> launches, const DeviceRates& limits) {
  std::map<std::string, StepPart> parts;
  std::map<std::string, double> farthest;
  for (const LaunchReport& launch : launches) {
    if (!launch.ran) continue;
    const std::string op = launch.converts || launch.op.empty() ? "conversions" : launch.op;
    StepPart& part = parts[op];
    const double limit = milliseconds_at_limit(launch, limits);
    part.op = op;
    ++part.launches;
    part.milliseconds += launch.milliseconds;
    part.at_limit += limit;
    part.gflop += launch.cost.flops / 1e9;
    part.gflop_done += launch.flops_done / 1e9;
    part.megabytes += launch.cost.bytes / 1e6;
    if (part.launches == 1 || launch.milliseconds - limit > farthest[op]) {
      farthest[op] = launch.milliseconds - limit;
      part.longest = launch.node;
    }
  }
  std::vector<StepPart> sorted;
  for (auto& [op, part] : parts) sorted.push_back(std::move(part));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const StepPart& a, const StepPart& b) { return a.gap() > b.gap(); });
  return sorted;
}

}  // namespace ridgeline
