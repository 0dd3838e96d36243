// ridgeline/train/loop/loop.h
//
// The training loop: runs the steps of a model with batches from a feed, in loops of several steps without the host.
// These are cut where a callback needs the host, so that results do not depend on their length. Owns nothing beyond
// run().
//
// Several ranks end their loops together, and all stop after the same step, whichever of them is stopped: an interrupt
// waits for the end of a step of several batches.
//
//   Model model(session, network);
//   model.prepare_training({.optimizer = optim::Adam{}, .schedule = optim::Constant{1e-3}});
//   DatasetFeed feed(dataset, network.columns);
//   Loop(model, feed, {.total_steps = 1000, .steps_per_epoch = dataset.size()}).run({&monitor, &saver});
#pragma once

#include <exception>
#include <initializer_list>
#include <source_location>
#include <span>
#include <vector>

#include "ridgeline/train/loop/callback.h"
#include "ridgeline/train/ranks/ranks.h"

namespace ridgeline::train {

struct LoopOptions {
  std::int64_t total_steps = 0;  // the run ends after this step, whichever it began at
  std::int64_t steps_per_epoch = 1;
  std::int64_t loop = 100;    // largest number of steps without the host; loops end at multiples of it
  bool cut_at_epochs = true;  // whether loops end where epochs do; else epoch_end comes after the loop that passes it
  // A loss that is not finite ends the run at its step with an Error.
  bool stop_if_not_finite = true;
};

class Loop {
 public:
  // The model's training must be prepared.
  Loop(Model& model, Feed& feed, const LoopOptions& options);

  // Runs from the model's global_step to the last step, or until it is stopped: by a callback, set_interrupted(), a
  // time limit, or the end of the data. Exceptions of the feed, a loss that is not finite, and too many overflows are
  // thrown after step_end was called for the steps before. Returns the final context, which outlives the loop. A
  // stopped run continues when this is called again. The model keeps the position in its data, for later feeds of the
  // same data. A callback that is null is an Error with the line.
  RunContext run(std::span<Callback* const> callbacks,
                 const std::source_location& at = std::source_location::current());
  RunContext run(std::initializer_list<Callback*> callbacks,
                 const std::source_location& at = std::source_location::current()) {
    return run(std::span<Callback* const>(callbacks.begin(), callbacks.size()), at);
  }

 private:
  void run_steps(std::span<Callback* const> callbacks);
  void keep_place() const;
  void throw_fault() const;
  bool feed();
  bool done();
  bool bind_batch();
  void note_run();
  StopReason fault() const;
  void run_to(std::int64_t stop);
  std::int64_t next_stop(std::span<Callback* const> callbacks);

  LoopOptions options_;
  RunContext context_;
  Ranks ranks_;
  bool watches_overflows_ = false;
  double overflows_ = 0;                        // in a row, after the last run
  std::int64_t begun_ = 0;                      // runs of the first step that were done before the current loop
  std::int64_t runs_fed_ = 0, runs_noted_ = 0;  // of the current loop
  StopReason fault_ = StopReason::none;         // of its first run with a fault
  double fault_value_ = 0;                      // the faulty loss, or the number of overflows
  std::int64_t runs_behind_fault_ = 0;          // runs given to the device before the fault was known
  std::exception_ptr data_error_;               // thrown when the steps before it are finished
};

}  // namespace ridgeline::train
