// bindings/shared/run.h
//
// The run behind an iterator of another language. Owns the engine's iterator; calls from several threads take turns.
// After a fork the child has none of the workers: what it asks is an Error, and its end leaks the run instead of taking
// it apart.
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

// Of all runs. Warnings go to standard error, also while the process ends.
Log& log();

class Run {
 public:
  // `memory` is the allocator of the slots, or null for ordinary memory; options.allocator and options.log are set
  // here.
  Run(const data::Dataset& dataset, data::IteratorOptions options, std::shared_ptr<data::BatchAllocator> memory = {});
  ~Run() { close(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  enum class Came { batch, end, nothing };
  // Waits for the next batch up to `limit`; other calls on the run wait for that long at most, and then go before
  // another next.
  Came next(std::chrono::milliseconds limit, std::shared_ptr<HeldBatch>& batch);

  // f(data::Iterator&).
  template <class F>
  auto with(F&& f) const {
    check_process();
    const Turns::Turn turn = turns_.short_turn();
    return f(running());
  }

  // Stops the workers; batches stay valid. What comes after is an Error.
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
