// ridgeline/device/cpu/team_shares.h
//
// How a kernel cuts its work for the team that it is made for. Cutting results apart changes no bits, and any team may
// do it in its own way. Cutting a sum does: only where a request promises no more than the same team's bits.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

// Teams up to this size cut sums by the shapes alone, in as many parts as suit them all; larger ones need more.
constexpr int kSmallTeam = 4;

// The team by which sums are cut: one of kSmallTeam stands for all where bits must not depend on the team.
inline int summing_team(const KernelRequest& request) {
  const bool fast = request.promise.bits == Reproducibility::fast;
  return fast ? std::max(compute_threads(), kSmallTeam) : kSmallTeam;
}

// How long a team is with alike items, in items: as many as each thread gets at most, and a part of one, because
// threads do not end together, the less so the longer items are.
inline double team_rounds(std::int64_t items, std::int64_t threads) {
  constexpr double kApart = 0.15;
  const std::int64_t most = (items + threads - 1) / threads;
  return static_cast<double>(most) + kApart;
}

}  // namespace ridgeline::device
