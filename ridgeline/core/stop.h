// ridgeline/core/stop.h
//
// Tells code that waits for long (for a network, before it tries again) that nobody wants its result any more. Whoever
// runs work that can be given up holds a StopScope around it; what waits, on the same thread, asks stop_wanted().
#pragma once

#include <atomic>

namespace ridgeline {

// Until its end, `flag` speaks for the calling thread; scopes may be nested, the inner one counts.
class StopScope {
 public:
  explicit StopScope(const std::atomic<bool>& flag) : StopScope(&flag) {}
  // For a thread that helps another: with what stop_flag() is there. Null: nobody speaks.
  explicit StopScope(const std::atomic<bool>* flag);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  const std::atomic<bool>* outer_;
};

// Of the scope around the calling thread's work; null outside of every scope.
const std::atomic<bool>* stop_flag();
// False outside of every scope.
bool stop_wanted();

}  // namespace ridgeline
