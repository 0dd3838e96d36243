#include <algorithm>

#include "ridgeline/compile/lower/lanes.h"
#include "ridgeline/compile/lower/plan_checks.h"
#include "ridgeline/compile/lower/plan_text.h"

namespace ridgeline {
namespace {

struct Touched {
  Touch touch;
  int launch;
};

// How far each lane must have got before a launch runs, counted in its launches: by waiting, and by what those that it
// waits for have waited for.
class Clocks {
 public:
  Clocks(const Plan& plan, const Section& section)
      : first_(section.first),
        lane_(static_cast<std::size_t>(section.last - section.first), 0),
        turn_(lane_.size(), 0),
        seen_(lane_.size(), std::vector<int>(section.lanes.size(), 0)) {
    std::vector<int> before(lane_.size(), -1);  // in the same lane
    for (std::size_t lane = 0; lane < section.lanes.size(); ++lane) {
      for (std::size_t k = 0; k < section.lanes[lane].size(); ++k) {
        const std::size_t i = index(section.lanes[lane][k]);
        lane_[i] = lane;
        turn_[i] = static_cast<int>(k) + 1;
        if (k > 0) before[i] = section.lanes[lane][k - 1];
      }
    }
    for (std::size_t i = 0; i < lane_.size(); ++i) {
      if (before[i] >= 0) follow(i, index(before[i]));
      for (int other : plan.launches[static_cast<std::size_t>(first_) + i].waits_for) follow(i, index(other));
    }
  }

  // Whether launch `a` is over when `b`, a later one in the plan's order, begins.
  bool ordered(int a, int b) const { return seen_[index(b)][lane_[index(a)]] >= turn_[index(a)]; }

 private:
  std::size_t index(int launch) const { return static_cast<std::size_t>(launch - first_); }
  void follow(std::size_t i, std::size_t other) {
    for (std::size_t lane = 0; lane < seen_[i].size(); ++lane)
      seen_[i][lane] = std::max(seen_[i][lane], seen_[other][lane]);
    seen_[i][lane_[other]] = std::max(seen_[i][lane_[other]], turn_[other]);
  }

  int first_;
  std::vector<std::size_t> lane_;       // by launch
  std::vector<int> turn_;               // in its lane, from 1
  std::vector<std::vector<int>> seen_;  // by launch and lane
};

}  // namespace

void check_order(const Plan& plan, const Places& places) {
  for (const Section& section : plan.sections) {
    const Clocks clocks(plan, section);
    std::vector<Touched> all;
    for (int i = section.first; i < section.last; ++i) {
      for (const Touch& touch : touches(plan.launches[static_cast<std::size_t>(i)], places)) {
        if (touch.place.begin < touch.place.end) all.push_back({touch, i});
      }
    }
    std::sort(all.begin(), all.end(), [](const Touched& a, const Touched& b) {
      return a.touch.place.space != b.touch.place.space ? a.touch.place.space < b.touch.place.space
                                                        : a.touch.place.begin < b.touch.place.begin;
    });
    for (std::size_t a = 0; a < all.size(); ++a) {
      for (std::size_t b = a + 1; b < all.size() && all[a].touch.place.meets(all[b].touch.place); ++b) {
        if (all[a].launch == all[b].launch || !(all[a].touch.writes || all[b].touch.writes)) continue;
        const auto [first, second] = std::minmax(all[a].launch, all[b].launch);
        if (!clocks.ordered(first, second))
          plan_fault(plan, launch_text(plan, second) + " does not wait for " + launch_text(plan, first) +
                               ", and one of them writes " + places.text(plan, all[b].touch.place));
      }
    }
  }
}

}  // namespace ridgeline
