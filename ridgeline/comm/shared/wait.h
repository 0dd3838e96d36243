// ridgeline/comm/shared/wait.h
//
// Waiting for another process's count: first awake for a moment where there are cores for all, then asleep (futex), and
// never without looking whether the other is still there.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "ridgeline/comm/shared/segment.h"

namespace ridgeline::comm {

// Ends of processes, by file descriptors that stand for them (pidfd): no confusion with a later process of that number.
class PeerProcesses {
 public:
  explicit PeerProcesses(const SharedHeader& header);
  ~PeerProcesses();
  PeerProcesses(const PeerProcesses&) = delete;
  PeerProcesses& operator=(const PeerProcesses&) = delete;

  bool has_ended(int rank) const;

 private:
  std::vector<int> files_;  // -1: there is no such descriptor, the number is asked
  std::vector<int> numbers_;
};

struct WaitLimits {
  int rank = 0;                          // who waits
  std::chrono::milliseconds timeout{0};  // for all of a wait
  int looks = 0;                         // before falling asleep
};

// The first rank that failed, and why, for all others; a later one changes nothing.
void report_failure(SharedHeader& header, int rank, const std::string& reason);

// Adds one and wakes those that sleep for it.
void advance(SharedCount& count);

// Returns when `count`, of rank `of`, is at least `value` (in the sense of a counter that wraps). Errors: some rank has
// ended or given up, the same one for all that wait, or the time is over.
void wait_for(SharedHeader& header, SharedCount& count, std::uint32_t value, int of, const PeerProcesses& peers,
              const WaitLimits& limits);

}  // namespace ridgeline::comm
