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
  // By the stream that records it, when it is asked to: the number of this record.
  std::uint64_t record();
  // By that stream when it has come so far; `error`: what the work in front of it ended with. Records are reached in
  // their order. Told under the lock: who waits may end the event's life as soon as it is free.
  void reach(std::uint64_t record, std::exception_ptr error = nullptr);
  // The last record so far: what somebody who asks now waits for.
  std::uint64_t recorded() const;
  // Until that record is reached; throws the error of the work in front of it.
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
