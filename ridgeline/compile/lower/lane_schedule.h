// ridgeline/compile/lower/lane_schedule.h
//
// Deals work out to lanes in a given order: each item goes where it ends first. A plain value; used to judge whether
// running side by side pays, and to do it.
#pragma once

#include <span>
#include <vector>

#include "ridgeline/device/rates.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// A guess of how long a launch takes on a team of so many threads, for comparing launches with each other. `rates` of
// one of them.
double launch_seconds(const Cost& cost, int threads, const DeviceRates& rates);

class LaneSchedule {
 public:
  explicit LaneSchedule(int lanes) : free_(static_cast<std::size_t>(lanes), 0.0), used_(free_.size(), false) {}

  // The next item, which waits for the items of `after` (by their place in the order); returns its lane. Where several
  // lanes end it at the same time it follows what it waits for, else the first is taken.
  int add(double seconds, std::span<const int> after);
  // When all are done.
  double end() const { return end_; }
  // Lanes that have work.
  int lanes() const;

 private:
  struct Item {
    int lane;
    double end;
  };
  std::vector<Item> items_;
  std::vector<double> free_;  // by lane: when it is
  std::vector<bool> used_;
  double end_ = 0;
};

}  // namespace ridgeline
