// ridgeline/comm/peer_processes.h
//
// Tells when other processes of this machine have ended, by file descriptors for them (pidfd), which cannot be confused
// with a later process of the same number.
#pragma once

#include <vector>

namespace ridgeline::comm {

class PeerProcesses {
 public:
  // Process numbers by rank; 0 for a rank that is not on this machine.
  explicit PeerProcesses(std::vector<int> numbers);
  ~PeerProcesses();
  PeerProcesses(const PeerProcesses&) = delete;
  PeerProcesses& operator=(const PeerProcesses&) = delete;

  int number(int rank) const { return numbers_[static_cast<std::size_t>(rank)]; }
  bool has_ended(int rank) const;  // false for one with number 0

 private:
  std::vector<int> numbers_;
  std::vector<int> files_;  // -1: no descriptor, the process number is used
};

}  // namespace ridgeline::comm
