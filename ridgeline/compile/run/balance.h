// ridgeline/compile/run/balance.h
//
// How well the launches of a step can use a team, from a recording of each thread's work. Only idle time counts: of
// threads that wait for the largest piece of a region, or while one thread works alone. Caches, memory and the cost of
// barriers are not included.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ridgeline/compile/run/program.h"

namespace ridgeline {

// Seconds until the last thread of a region has finished.
double team_seconds(const TeamRegion& region);

struct LaunchBalance {
  std::int64_t items = 0;    // chunks, items or bodies of the longest region
  double largest_share = 0;  // share of that region's work in its largest item
  int barriers = 0;          // a region has one at its end
  double seconds = 0;        // of all work, on one thread
  double serial = 0;         // of these, outside of regions
  double longest = 0;        // until a team has finished
  bool library = false;      // a library divides some of it in an unknown way: then there is no bound
  // Upper bound of the share of `threads` threads' time that can be used.
  double bound(int threads) const { return longest > 0 ? seconds / (longest * threads) : 1; }
};
LaunchBalance balance_of(const TeamWork& work);

struct StepBalance {
  int threads = 1;
  std::vector<LaunchBalance> launches;  // by the launches' places
  double seconds = 0;                   // of all work
  double library_seconds = 0;           // of these, in launches that a library divides
  double longest = 0;                   // until the team has finished all others
  // Of the launches whose division is known, together.
  double bound() const { return longest > 0 ? (seconds - library_seconds) / (longest * threads) : 1; }
};
StepBalance balance_of(std::span<const LaunchReport> launches, int threads);

// Keeps the shorter of two times for each piece: disturbances make pieces longer, never shorter. The regions are the
// same in every run.
void take_least(TeamWork& least, const TeamWork& other);
// Kernels divide work into equal pieces. A piece that takes up to 1.5 times its region's median was disturbed (a cold
// cache, other programs) and counts as the median; one that takes longer really has more work.
void level(TeamWork& work);

}  // namespace ridgeline
