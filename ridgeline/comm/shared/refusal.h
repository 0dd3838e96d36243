// ridgeline/comm/shared/refusal.h
//
// Ranks of one machine that do not come: what a rank leaves in shared memory, by the name of the run, where it ends
// before it has joined the others, so that these wait no longer and say its reason. A note is signed by each rank that
// has left it or read it, and gone from the system with the last signature. Where not all come, a process that the rank
// leaves behind for that takes it away after twenty seconds.
#pragma once

#include <chrono>
#include <string>

namespace ridgeline::comm {

// The first reason of a run counts. Does nothing where there is no shared memory: who ends has a reason to tell
// already.
void leave_refusal(const std::string& name, int rank, int size, const std::string& reason);

// Of a run that is over.
void remove_refusal(const std::string& name);

// Looks for a note while the others are waited for. A rank that comes removes a note that it has signed: that one is of
// an earlier run of the same name.
class RefusalWatch {
 public:
  // `patience`: how long before this process somebody may have left a note that is meant for it.
  RefusalWatch(std::string name, int rank, int size, std::chrono::milliseconds patience);

  // An Error with the number and the reason of the rank that does not come. A note from before this process's own start
  // may be an earlier run's, whose rank comes again: it counts when that rank has not come for a while.
  void look();

 private:
  std::string name_;
  int rank_, size_;
  double started_, patience_;  // seconds; since the machine's own start
};

}  // namespace ridgeline::comm
