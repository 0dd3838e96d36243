// ridgeline/device/host_event.h
//
// The event of devices whose streams are threads of this process. Any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>

#include "ridgeline/device/event.h"

namespace ridgeline {

class HostEvent final : public Event {
 public:
  using Event::Event;
  // Called by the recording stream when it is asked to record: returns the number of this record.
  std::uint64_t record();
  // Called by that stream when it reaches the record; `error`: the error of the work before it. Records are reached in
  // order. Waiters are notified under the lock, since they may destroy the event as soon as it is released.
  void reach(std::uint64_t record, std::exception_ptr error = nullptr);
  // The last record so far: the one for which a waiter that begins now waits.
  std::uint64_t recorded() const;
  // Waits until that record is reached; throws the error of the work before it.
  void wait_for(std::uint64_t record);

  void wait() override { wait_for(recorded()); }
  bool reached() override;
  std::chrono::steady_clock::time_point when() override;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t recorded_ = 0, reached_ = 0;
  std::uint64_t first_failed_ = 0, last_failed_ = 0;  // records with that error; 0: none
  std::exception_ptr error_;
  std::chrono::steady_clock::time_point when_;
};

}  // namespace ridgeline
