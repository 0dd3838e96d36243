#include "ridgeline/compile/measure.h"

#include <algorithm>
#include <chrono>

namespace ridgeline {

RunTimes time_runs(Program& program, int runs) {
  program.run();
  program.run();
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    program.run();
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  return {.milliseconds = times[times.size() / 2], .fastest = times.front(), .slowest = times.back(), .runs = runs};
}

double milliseconds_at_limit(std::span<const LaunchReport> launches, double gflops, double gigabytes) {
  double milliseconds = 0;
  for (const LaunchReport& launch : launches)
    milliseconds += std::max(launch.cost.flops / gflops, launch.cost.bytes / gigabytes) / 1e6;
  return milliseconds;
}

}  // namespace ridgeline
