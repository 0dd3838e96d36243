// ridgeline/compile/run/balance.h
//
// How far the launches of a step can use a team, from a record of the work that each of its threads would have: with
// everything else at no cost, a thread that waits for the largest part of a region, or for what one thread does alone,
// is idle. Caches, memory and the cost of a barrier are not in it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ridgeline/compile/run/program.h"

namespace ridgeline {

// Seconds until the last thread of a region is through.
double team_seconds(const TeamRegion& region);

struct LaunchBalance {
  std::int64_t items = 0;    // chunks, items or bodies of the region that takes longest
  double largest_share = 0;  // of that region's work, in its largest item
  int barriers = 0;          // a region has one at its end
  double seconds = 0;        // of all work, on one thread
  double serial = 0;         // of them, outside of regions
  double longest = 0;        // until a team is through
  bool library = false;      // a library divides a part of it, nobody knows how: the bound is none
  // At most, of what `threads` threads could do.
  double bound(int threads) const { return longest > 0 ? seconds / (longest * threads) : 1; }
};
LaunchBalance balance_of(const TeamWork& work);

struct StepBalance {
  int threads = 1;
  std::vector<LaunchBalance> launches;  // by the launches' places
  double seconds = 0;                   // of all work
  double library_seconds = 0;           // of it, in launches that a library divides
  double longest = 0;                   // until the team is through with all others
  // Of the launches whose division is known, together.
  double bound() const { return longest > 0 ? (seconds - library_seconds) / (longest * threads) : 1; }
};
StepBalance balance_of(std::span<const LaunchReport> launches, int threads);

// The shorter of two times for each part: what else went on in a run makes parts longer, never shorter. The regions
// are the same in every run.
void take_least(TeamWork& least, const TeamWork& other);
// Kernels cut alike parts. Where one takes up to half as long again as its region's median, a cache was cold or the
// machine did something else, and it counts as long as the median; what takes longer is more work.
void level(TeamWork& work);

}  // namespace ridgeline
