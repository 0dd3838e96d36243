// ridgeline/core/stop.h
//
// Tells code that waits for a long time (for a network, before it tries again) that its result is no longer wanted.
// Whoever runs work that can be given up holds a StopScope around it; the waiting code, on the same thread, asks
// stop_wanted().
#pragma once

#include <atomic>

namespace ridgeline {

// While alive, `flag` says whether the calling thread's work is to stop; scopes may be nested, the innermost counts.
class StopScope {
 public:
  explicit StopScope(const std::atomic<bool>& flag) : StopScope(&flag) {}
  // For a thread that helps another: pass the other's stop_flag(). Null: never stops.
  explicit StopScope(const std::atomic<bool>* flag);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  const std::atomic<bool>* outer_;
};

// The flag of the innermost scope of the calling thread; null outside of every scope.
const std::atomic<bool>* stop_flag();
// False outside of every scope.
bool stop_wanted();

}  // namespace ridgeline
