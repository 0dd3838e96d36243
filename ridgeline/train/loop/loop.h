// ridgeline/train/loop/loop.h
//
// Runs the steps of a model: batches from a feed into the compiled step, in loops of several steps without the host
// that are cut where a callback wants the host, so that nothing depends on their length. Owns nothing beyond run().
//
// Of several ranks all end their loops together, and all stop behind the same step, whichever of them is stopped: an
// interrupt waits for the end of a step of several batches.
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
  std::int64_t total_steps = 0;  // the run ends behind this step, whichever it began at
  std::int64_t steps_per_epoch = 1;
  std::int64_t loop = 100;    // most steps without the host, on the grid of its multiples
  bool cut_at_epochs = true;  // whether loops end where epochs do; else epoch_end comes behind the loop that ends it
  // A loss that is not finite ends the run at its step with an Error.
  bool stop_if_not_finite = true;
};

class Loop {
 public:
  // The model's training must be prepared.
  Loop(Model& model, Feed& feed, const LoopOptions& options);

  // From the model's global_step to the last step, or until somebody stops it: a callback, set_interrupted(), a limit
  // of time, the end of the data. What the feed throws, a loss that is not finite, and overflows without end are thrown
  // on when step_end was called for the steps before. Returns the context as it is at the end, which outlives the loop.
  // A run that was stopped goes on when it is called again. The model keeps where its data stand, for feeds that others
  // make of them. A callback that is null is an Error with the line.
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
  double overflows_ = 0;                        // in a row, behind the last run
  std::int64_t begun_ = 0;                      // runs of its first step that were done before the running loop
  std::int64_t runs_fed_ = 0, runs_noted_ = 0;  // of the running loop
  StopReason fault_ = StopReason::none;         // of the first run of it that had one
  double fault_value_ = 0;                      // what was wrong there: the loss, or how many overflows
  std::int64_t runs_behind_fault_ = 0;          // that were given to the device before it was known
  std::exception_ptr data_error_;               // thrown on when the steps before it are dealt with
};

}  // namespace ridgeline::train
