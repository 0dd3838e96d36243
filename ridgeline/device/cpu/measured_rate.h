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

inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// `run(i)` does `work` of something, `runs` times: two or more. The first wakes the team up. `clock` tells seconds.
template <class Run>
MeasuredRate measure_rate(int runs, double work, const Run& run, double (*clock)() = steady_seconds) {
  MeasuredRate rate;
  double seconds = 0;
  for (int i = 0; i < runs; ++i) {
    const double begin = clock();
    run(i);
    const double own = clock() - begin;
    rate.best = std::max(rate.best, work / own);
    if (i > 0) seconds += own;
  }
  rate.usual = work * (runs - 1) / seconds;
  return rate;
}

}  // namespace ridgeline::device
