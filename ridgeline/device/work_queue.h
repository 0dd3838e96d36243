// ridgeline/device/work_queue.h
//
// Work that a separate thread does in order: the basis of asynchronous streams. Owns the thread; destroying it finishes
// the work in progress and drops the rest. Any thread may push.
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

  // After an error no work is done until synchronize() has thrown it.
  void push(std::function<void()> work);
  // The event is reached when everything pushed so far is done, or dropped after an error, which its waiters get.
  void record(HostEvent& event);
  // Waits until all work is done; throws its error.
  void synchronize();
  // The same, but leaves an error for the next synchronize().
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
