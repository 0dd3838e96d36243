// ridgeline/comm/shared/refusal.h
//
// Notes of ranks that end before they have joined the others on one machine: such a rank leaves a note in shared
// memory, under the run's name, so that the others stop waiting and report its reason. Every rank that leaves or reads
// a note signs it, and the last signature removes it. If not all ranks arrive, a process that the rank started for this
// purpose removes the note after twenty seconds.
#pragma once

#include <chrono>
#include <string>

namespace ridgeline::comm {

// The first reason of a run counts. Does nothing if there is no shared memory: the caller already ends with an error.
void leave_refusal(const std::string& name, int rank, int size, const std::string& reason);

// Removes the note of a finished run.
void remove_refusal(const std::string& name);

// Looks for a note while waiting for the others. A rank that arrives removes a note that it has signed itself: that is
// of an earlier run of the same name.
class RefusalWatch {
 public:
  // `patience`: how old a note may be, compared with this process, and still be meant for it.
  RefusalWatch(std::string name, int rank, int size, std::chrono::milliseconds patience);

  // An Error with the number and the reason of the rank that will not arrive. A note from before this process started
  // may be of an earlier run whose rank still arrives: it counts only after a while.
  void look();

 private:
  std::string name_;
  int rank_, size_;
  double started_, patience_;  // seconds since the machine was booted
};

}  // namespace ridgeline::comm
