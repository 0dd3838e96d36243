#include "ridgeline/compile/lower/lane_schedule.h"

#include <algorithm>

namespace ridgeline {

double launch_seconds(const Cost& cost, int threads, const DeviceRates& rates) {
  const double work = rates.seconds(cost.flops, cost.bytes) / threads;
  return rates.launch_seconds + work + (threads > 1 ? rates.barrier_seconds : 0.0);
}

int LaneSchedule::add(double seconds, std::span<const int> after) {
  double ready = 0;
  int follows = 0;
  for (int item : after) {
    const Item& before = items_[static_cast<std::size_t>(item)];
    if (before.end < ready) continue;
    ready = before.end;
    follows = before.lane;
  }
  auto lane = static_cast<std::size_t>(follows);
  for (std::size_t other = 0; other < free_.size(); ++other) {
    if (std::max(free_[other], ready) < std::max(free_[lane], ready)) lane = other;
  }
  const double end = std::max(free_[lane], ready) + seconds;
  free_[lane] = end;
  used_[lane] = true;
  items_.push_back({static_cast<int>(lane), end});
  end_ = std::max(end_, end);
  return static_cast<int>(lane);
}

int LaneSchedule::lanes() const { return static_cast<int>(std::count(used_.begin(), used_.end(), true)); }

}  // namespace ridgeline
