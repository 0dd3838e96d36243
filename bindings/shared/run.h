// bindings/shared/run.h
//
// The engine's iterator behind an iterator of another language. Owns it and serialises calls of several threads. After
// a fork the child has no workers: its calls are Errors, and it leaks the iterator instead of destroying it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <memory>

#include "bindings/shared/held_batch.h"
#include "bindings/shared/turns.h"
#include "ridgeline/core/log.h"
#include "ridgeline/data/runtime/iterator.h"

namespace ridgeline::bindings {

// The log of all runs. Warnings go to standard error, also during process exit.
Log& log();

class Run {
 public:
  // `memory` is the allocator of the slots, or null for ordinary memory. Sets options.allocator and options.log.
  Run(const data::Dataset& dataset, data::IteratorOptions options, std::shared_ptr<data::BatchAllocator> memory = {});
  ~Run() { close(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  enum class Came { batch, end, nothing };
  // Waits for the next batch, but not longer than `limit`. Other calls wait at most that long, and come before the next
  // call of next.
  Came next(std::chrono::milliseconds limit, std::shared_ptr<HeldBatch>& batch);

  // Calls f(data::Iterator&).
  template <class F>
  auto with(F&& f) const {
    check_process();
    const Turns::Turn turn = turns_.short_turn();
    return f(running());
  }

  // Stops the workers; batches stay valid. Later calls are Errors.
  void close();
  bool of_this_process() const;

 private:
  void check_process() const;
  data::Iterator& running() const;

  mutable Turns turns_;
  std::shared_ptr<data::BatchAllocator> memory_;
  std::unique_ptr<data::Iterator> iterator_;
  std::shared_ptr<std::atomic<int>> lent_ = std::make_shared<std::atomic<int>>(0);
  pid_t process_;
};

}  // namespace ridgeline::bindings
