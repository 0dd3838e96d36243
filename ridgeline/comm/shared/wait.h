// ridgeline/comm/shared/wait.h
//
// Waiting for another process's counter: first polling for a moment if there are cores for all, then asleep (futex),
// always checking that the other process is still alive.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/comm/peer_processes.h"
#include "ridgeline/comm/shared/segment.h"

namespace ridgeline::comm {

struct WaitLimits {
  int rank = 0;                          // the rank that waits
  std::vector<std::string> names;        // the ranks' names in messages
  std::chrono::milliseconds timeout{0};  // for a whole wait
  int looks = 0;                         // polls before sleeping
  std::vector<int> all;                  // all ranks
};

// Records the first rank that failed, and why, for all others; a later one changes nothing.
void report_failure(SharedHeader& header, int rank, const std::string& reason);

// The first failure, if there is one, that of the own rank included; checks whether one of `ranks` has ended.
std::optional<std::string> first_failure(SharedHeader& header, std::span<const int> ranks, const PeerProcesses& peers,
                                         const WaitLimits& limits);

// Throws it, unless it is that of the own rank.
void check_ranks(SharedHeader& header, std::span<const int> ranks, const PeerProcesses& peers,
                 const WaitLimits& limits);

// Adds one and wakes those that sleep for it.
void advance(SharedCount& count);

// Returns when `count`, of rank `of`, is at least `value` (in the sense of a counter that wraps). Errors: some rank has
// ended or given up, the same one for all that wait, or timeout.
void wait_for(SharedHeader& header, SharedCount& count, std::uint32_t value, int of, const PeerProcesses& peers,
              const WaitLimits& limits);

}  // namespace ridgeline::comm
