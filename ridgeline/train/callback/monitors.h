// ridgeline/train/callback/monitors.h
//
// MindSpore's small monitors: a line of text for each loop or epoch, to standard output or to a function.
#pragma once

#include <chrono>
#include <string>

#include "ridgeline/core/given_function.h"
#include "ridgeline/train/loop/callback.h"

namespace ridgeline::train {

using LineSink = OptionalFunction<void(const std::string&)>;
void print_line(const std::string& line);  // to standard output

// "epoch: 1 step: 100, loss is 0.25", where the step is counted in its epoch: every `per_print_times` steps (0: never).
// A loss that is not finite is an Error "epoch: E step: S. Invalid loss, terminating training."
class LossMonitor : public Callback {
 public:
  explicit LossMonitor(std::int64_t per_print_times = 1, LineSink sink = print_line);
  void begin(RunContext& context) override { printed_ = context.step(); }
  void step_end(RunContext& context) override;

 private:
  std::int64_t every_, printed_ = 0;
  LineSink sink_;
};

// "epoch time: 1234.500 ms, per step time: 12.345 ms" after each epoch of `data_size` steps (0: as many as the epoch
// has).
class TimeMonitor : public Callback {
 public:
  explicit TimeMonitor(std::int64_t data_size = 0, LineSink sink = print_line);
  void epoch_begin(RunContext& context) override;
  void epoch_end(RunContext& context) override;

 private:
  std::int64_t data_size_, first_step_ = 0;
  LineSink sink_;
  std::chrono::steady_clock::time_point begin_;
};

// "epoch: 1 step: 100, learning rate is 0.05" after each loop.
class LearningRateMonitor : public Callback {
 public:
  explicit LearningRateMonitor(LineSink sink = print_line) : sink_(std::move(sink)) {}
  void step_end(RunContext& context) override;

 private:
  LineSink sink_;
};

}  // namespace ridgeline::train
