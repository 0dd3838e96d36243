#include "ridgeline/compile/lane_schedule.h"

#include <algorithm>

namespace ridgeline {
namespace {

// Orders of magnitude of one core; only relations matter. Handing work to a team and waiting for it takes tens of
// microseconds where its threads sleep in between (docs/core.md).
constexpr double kFlops = 1e11;
constexpr double kBytes = 1e10;
constexpr double kLaunch = 1e-6;
constexpr double kTeam = 1e-5;

}  // namespace

double launch_seconds(const Cost& cost, int threads) {
  const double work = std::max(cost.flops / kFlops, cost.bytes / kBytes) / threads;
  return kLaunch + work + (threads > 1 ? kTeam : 0.0);
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
