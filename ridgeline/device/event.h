// ridgeline/device/event.h
//
// A point in a stream: reached when all that the stream was given before record() is done. One stream records it,
// others wait for it; it may be recorded again once everybody who waits has gone on. Any thread.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

namespace ridgeline {

class Event {
 public:
  // By streams: whatever is recorded from now on is not reached yet.
  void reset() {
    const std::lock_guard lock(mutex_);
    reached_ = false;
    error_ = nullptr;
  }
  // By streams; `error`: what the work in front of it ended with. Told under the lock: who waits may end the event's
  // life as soon as it is free.
  void reach(std::exception_ptr error = nullptr) {
    const std::lock_guard lock(mutex_);
    reached_ = true;
    error_ = std::move(error);
    changed_.notify_all();
  }
  // Until it is reached; throws the error of the work in front of it.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached_; });
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
  std::exception_ptr error_;
};

}  // namespace ridgeline
