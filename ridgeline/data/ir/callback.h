// ridgeline/data/ir/callback.h
//
// User functions that a run calls around the batches it delivers: to log, to count, to change things outside the data
// engine. They belong to a map node (as in MindData) but cannot see or change samples. So they count neither for
// equality nor for the hash, and reading JSON does not make them; written JSON shows their step sizes for the reader.
//
// Called on the thread that calls Iterator::next(), in the order in which the graph holds them:
//   begin, for each epoch: epoch_begin, for each batch: step_begin, (the consumer has the batch), step_end; epoch_end;
//   end, when next() has nothing more. step_end is called by the next() that follows the step.
// An Iterator that starts or is restored in the middle of an epoch calls epoch_begin there. One that is destroyed early
// calls nothing more. An exception of a callback is thrown by next() and ends the run; every later next() throws it
// again, until restore().
#pragma once

#include <cstdint>

namespace ridgeline::data {

struct CallbackInfo {
  std::uint64_t epoch = 0;      // from 0, as in Batch::epoch()
  std::uint64_t step = 0;       // batch of this epoch, from 1 as MindData counts; 0 before the first one
  std::uint64_t run_steps = 0;  // batches that this run has delivered, this one included
};

// Shared by the graphs that hold it and their iterators; must not be used by two runs at a time unless it is
// thread-safe.
class DataCallback {
 public:
  // step_begin is called at steps 1, 1 + step_size, ... of each epoch and step_end at steps step_size, 2 * step_size,
  // ...: MindData's rule, counted in the epoch so that it depends on the position alone. An Error unless at least 1.
  explicit DataCallback(std::int64_t step_size = 1);
  virtual ~DataCallback() = default;

  virtual void begin(const CallbackInfo&) {}
  virtual void epoch_begin(const CallbackInfo&) {}
  virtual void step_begin(const CallbackInfo&) {}
  virtual void step_end(const CallbackInfo&) {}
  virtual void epoch_end(const CallbackInfo&) {}
  virtual void end(const CallbackInfo&) {}

  std::int64_t step_size() const { return step_size_; }

 private:
  std::int64_t step_size_;
};

}  // namespace ridgeline::data
