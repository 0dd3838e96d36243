// ridgeline/comm/peer_processes.h
//
// Ends of other processes of this machine, by file descriptors that stand for them (pidfd): no confusion with a later
// process of the same number.
#pragma once

#include <vector>

namespace ridgeline::comm {

class PeerProcesses {
 public:
  // Process numbers by rank; 0 for one that this machine does not know.
  explicit PeerProcesses(std::vector<int> numbers);
  ~PeerProcesses();
  PeerProcesses(const PeerProcesses&) = delete;
  PeerProcesses& operator=(const PeerProcesses&) = delete;

  int number(int rank) const { return numbers_[static_cast<std::size_t>(rank)]; }
  bool has_ended(int rank) const;  // false for one that is not known

 private:
  std::vector<int> numbers_;
  std::vector<int> files_;  // -1: there is no such descriptor, the number is asked
};

}  // namespace ridgeline::comm
