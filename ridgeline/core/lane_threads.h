// ridgeline/core/lane_threads.h
//
// Threads that run one piece of work each at the same time, as often as asked. Lane 0 is the thread that asks; the
// others sleep in between. Owned by whoever makes them; one thread at a time may ask.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "ridgeline/core/function_ref.h"

namespace ridgeline {

class LaneThreads {
 public:
  // Starts lanes - 1 threads; an Error where the system has no more of them.
  explicit LaneThreads(int lanes);
  ~LaneThreads();
  LaneThreads(const LaneThreads&) = delete;
  LaneThreads& operator=(const LaneThreads&) = delete;

  int lanes() const { return static_cast<int>(threads_.size()) + 1; }
  // body(lane) for the lanes 0 to `lanes` - 1 (at most lanes()), each on a thread of its own: bodies may wait for each
  // other. Returns when all have ended. They must not throw.
  void run(int lanes, FunctionRef<void(int)> body);

 private:
  void wait_for_work(int lane);
  void end();

  const FunctionRef<void(int)>* body_ = nullptr;  // of the run in progress
  int wanted_ = 0;                                // its lanes
  bool ending_ = false;
  std::atomic<std::uint32_t> round_{0};    // grows with each run: what the threads wait for
  std::atomic<std::uint32_t> running_{0};  // threads that have not finished it yet
  std::vector<std::thread> threads_;
};

}  // namespace ridgeline
