// ridgeline/device/cpu/measured_rate.h
//
// The speed of something that is done several times: at its best, which is the machine's limit, and usually, which is
// what remains of it with everything else that runs on the machine.
#pragma once

#include <algorithm>
#include <chrono>

namespace ridgeline::device {

struct MeasuredRate {
  double best = 0, usual = 0;  // work per second: of the fastest run, and of all except the first together
};

inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Calls `run(i)`, which does `work` units, `runs` times: two or more. The first wakes the team. `clock` gives seconds.
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
