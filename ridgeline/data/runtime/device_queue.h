// ridgeline/data/runtime/device_queue.h
//
// The tunnel between a dataset and who consumes its batches on another thread or device: a bounded queue of lent
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
  // Batches that wait in the queue; the iterator prepares more behind them. 0: two, or one where there are few slots.
  std::int64_t depth = 0;
};

class DeviceQueue {
 public:
  explicit DeviceQueue(const Dataset& dataset, IteratorOptions options = {}, DeviceQueueOptions queue = {});
  ~DeviceQueue();  // stops; batches that were received stay valid
  DeviceQueue(const DeviceQueue&) = delete;
  DeviceQueue& operator=(const DeviceQueue&) = delete;

  // Goes on from there, as Iterator::restore; before send().
  void restore(const IteratorState& state);
  // Starts to send. Once: another call is an Error with its line.
  void send(const std::source_location& at = std::source_location::current());
  // No batch enters the queue until resume(); what is in it can still be received. Returns when the sender rests.
  void stop();
  void resume();

  // The next batch; waits for it. nullopt at the end of the data. An Error of the data is thrown here, at its batch.
  // While stopped, an empty queue is an Error: nobody would fill it. So it is while every slot is held by batches
  // received before: release one first.
  std::optional<Batch> receive();

  std::int64_t waiting() const;  // batches in the queue
  std::int64_t sent() const;     // that entered it so far
  // After the batches that receive() has returned.
  IteratorState state() const;
  const Schema& columns() const { return iterator_.columns(); }
  RunStats stats() const { return iterator_.stats(); }
  // For what it tells of the run; batches come by receive().
  const Iterator& iterator() const { return iterator_; }

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
  bool stopped_ = false, resting_ = false, ended_ = false, closing_ = false;
  bool starved_ = false;  // the sender waits for a slot
  std::thread sender_;
};

}  // namespace ridgeline::data
