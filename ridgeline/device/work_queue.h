// ridgeline/device/work_queue.h
//
// Work that a thread of its own does in order: what streams that run behind are made of. Owns the thread; destroying it
// finishes the work in progress and drops the rest. Any thread may push.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "ridgeline/device/host_event.h"

namespace ridgeline {

class WorkQueue {
 public:
  WorkQueue();
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // After an error nothing is done any more until synchronize() has thrown it.
  void push(std::function<void()> work);
  // The event is reached when everything pushed so far is done, or dropped after an error, which its waiters get.
  void record(HostEvent& event);
  // Until nothing is left to do; throws the error of what was done.
  void synchronize();
  // The same, and leaves an error for the next synchronize().
  void drain();

 private:
  struct Task {
    std::function<void()> work;
    HostEvent* reaches = nullptr;
    std::uint64_t record = 0;  // of that event
  };
  void push(Task task);
  void work();

  std::mutex mutex_;
  std::condition_variable changed_, idle_;
  std::deque<Task> queue_;
  bool running_ = false;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace ridgeline
