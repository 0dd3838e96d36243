// ridgeline/device/cpu/measured_rate.h
//
// How fast something is that is done several times: at its best, which is the machine's limit, and usually, which is
// what is left of that beside whatever else runs on the machine.
#pragma once

#include <algorithm>
#include <chrono>

namespace ridgeline::device {

struct MeasuredRate {
  double best = 0, usual = 0;  // work a second: of the fastest run, and of all but the first together
};

// `run(i)` does `work` of something, `runs` times: two or more. The first wakes the team up.
template <class Run>
MeasuredRate measure_rate(int runs, double work, const Run& run) {
  using Clock = std::chrono::steady_clock;
  MeasuredRate rate;
  double seconds = 0;
  for (int i = 0; i < runs; ++i) {
    const auto begin = Clock::now();
    run(i);
    const double own = std::chrono::duration<double>(Clock::now() - begin).count();
    rate.best = std::max(rate.best, work / own);
    if (i > 0) seconds += own;
  }
  rate.usual = work * (runs - 1) / seconds;
  return rate;
}

}  // namespace ridgeline::device
