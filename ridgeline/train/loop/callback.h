// ridgeline/train/loop/callback.h
//
// Callbacks of a training loop: hooks in the order begin, epoch_begin, step_begin, step_end, epoch_end, end. A loop
// runs several steps on the device without the host, so step_begin and step_end are called once per loop; a callback
// that needs the host at certain steps says so by next_stop(). Called on the loop's thread, in the order of the list.
#pragma once

#include <cstdint>
#include <limits>

#include "ridgeline/train/loop/run_context.h"

namespace ridgeline::train {

class Callback {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  virtual ~Callback() = default;
  // The first step after `step` after which this callback must be called: loops end there.
  virtual std::int64_t next_stop(std::int64_t /*step*/) const { return kNever; }

  virtual void begin(RunContext&) {}
  virtual void epoch_begin(RunContext&) {}
  virtual void step_begin(RunContext&) {}
  // Also called when the run stops: then context.stopping() is true.
  virtual void step_end(RunContext&) {}
  virtual void epoch_end(RunContext&) {}
  // Not called when the run ends by an error.
  virtual void end(RunContext&) {}
  // Called instead of end() after an exception of the data, the step, or any callback's hook. Its own exceptions are
  // dropped.
  virtual void failed(RunContext&) {}
};

// The next multiple of `period` after `step`; kNever for a period of 0.
inline std::int64_t next_multiple(std::int64_t step, std::int64_t period) {
  return period > 0 ? (step / period + 1) * period : Callback::kNever;
}
inline bool is_multiple(std::int64_t step, std::int64_t period) { return period > 0 && step > 0 && step % period == 0; }

}  // namespace ridgeline::train
