// ridgeline/data/runtime/device_queue.h
//
// The queue between a dataset and a consumer of its batches on another thread or device: a bounded queue of lent
// batches, filled by a thread of its own. On the CPU a batch is a view of its slot: nothing is copied. A device injects
// its allocator (IteratorOptions::allocator), so that slots are memory it can read, and releases a Batch when its copy
// is done.
//
//   data::DeviceQueue queue(train, {.epochs = 3});
//   queue.send();                                  // starts the thread
//   while (auto batch = queue.receive()) step(*batch);
//
// send(), stop() and resume() are called by one thread, receive() by one (the same or another). A batch may be released
// by any thread; while every slot is held, the sender waits.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <source_location>
#include <thread>

#include "ridgeline/data/runtime/iterator.h"

namespace ridgeline::data {

struct DeviceQueueOptions {
  // How many batches wait in the queue; the iterator prepares more. 0: two, or one if there are few slots.
  std::int64_t depth = 0;
};

class DeviceQueue {
 public:
  explicit DeviceQueue(const Dataset& dataset, IteratorOptions options = {}, DeviceQueueOptions queue = {});
  ~DeviceQueue();  // stops; batches that were received stay valid
  DeviceQueue(const DeviceQueue&) = delete;
  DeviceQueue& operator=(const DeviceQueue&) = delete;

  // Continues from `state`, as Iterator::restore; call before send().
  void restore(const IteratorState& state);
  // Starts sending. Call once: another call is an Error with its line.
  void send(const std::source_location& at = std::source_location::current());
  // No batch enters the queue until resume(); what is in it can still be received. Returns when the sender is idle.
  void stop();
  void resume();

  // The next batch; waits for it. nullopt at the end of the data. An Error of the data is thrown here, at its batch.
  // While stopped, an empty queue is an Error: nobody would fill it. The same while received batches hold every slot:
  // release one first.
  std::optional<Batch> receive();

  std::int64_t waiting() const;  // batches in the queue
  std::int64_t sent() const;     // batches that entered the queue so far
  // After the batches that receive() has returned.
  IteratorState state() const;
  const Schema& columns() const { return iterator_.columns(); }
  // The consumer's wait is that of receive().
  RunStats stats() const;
  std::int64_t slots() const { return iterator_.slots(); }
  std::int64_t slot_bytes() const { return iterator_.slot_bytes(); }
  std::int64_t bad_samples() const { return iterator_.bad_samples(); }

 private:
  void run();

  Iterator iterator_;
  std::int64_t depth_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> queue_;
  std::exception_ptr error_;
  IteratorState received_;
  std::int64_t sent_ = 0;
  double waited_ = 0;  // seconds, in receive()
  bool stopped_ = false, resting_ = false, ended_ = false, closing_ = false;
  bool starved_ = false;  // the sender waits for a slot
  std::thread sender_;
};

}  // namespace ridgeline::data
