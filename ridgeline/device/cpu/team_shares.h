// ridgeline/device/cpu/team_shares.h
//
// How a kernel divides its work for the team for which it is made. Dividing results changes no bits, so each team may
// do it in its own way. Dividing a sum does: it is only allowed if a request promises the same bits only for the same
// team.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

// Teams up to this size divide sums by the shapes alone, into as many pieces as suit them all; larger ones need more.
constexpr int kSmallTeam = 4;

// The team size by which sums are divided: always kSmallTeam if bits must not depend on the team.
inline int summing_team(const KernelRequest& request) {
  const bool fast = request.promise.bits == Reproducibility::fast;
  return fast ? std::max(compute_threads(), kSmallTeam) : kSmallTeam;
}

// How long a team takes for equal items, in items: the most that a thread gets, plus a fraction of one, because threads
// do not end at the same time, the less so the longer items are.
inline double team_rounds(std::int64_t items, std::int64_t threads) {
  constexpr double kApart = 0.15;
  const std::int64_t most = (items + threads - 1) / threads;
  return static_cast<double>(most) + kApart;
}

}  // namespace ridgeline::device
