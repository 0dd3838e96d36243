// ridgeline/compile/lower/lane_schedule.h
//
// Assigns work to lanes in a given order: each item goes to the lane where it ends first. A plain value; used both to
// estimate whether running side by side pays off, and to do it.
#pragma once

#include <span>
#include <vector>

#include "ridgeline/device/rates.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// A rough estimate of how long a launch takes on a team of `threads`, for comparing launches. `rates` of one thread.
double launch_seconds(const Cost& cost, int threads, const DeviceRates& rates);

class LaneSchedule {
 public:
  explicit LaneSchedule(int lanes) : free_(static_cast<std::size_t>(lanes), 0.0), used_(free_.size(), false) {}

  // The next item, which waits for the items of `after` (by their place in the order); returns its lane. If several
  // lanes would end it at the same time, it goes to the lane of what it waits for, else to the first.
  int add(double seconds, std::span<const int> after);
  // When all are done.
  double end() const { return end_; }
  // The number of lanes that have work.
  int lanes() const;

 private:
  struct Item {
    int lane;
    double end;
  };
  std::vector<Item> items_;
  std::vector<double> free_;  // by lane: when it becomes free
  std::vector<bool> used_;
  double end_ = 0;
};

}  // namespace ridgeline
