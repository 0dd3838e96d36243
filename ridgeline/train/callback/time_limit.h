// ridgeline/train/callback/time_limit.h
//
// Ends a run early enough for it to be saved by a given time: before a queue ends the job. Each process does at least
// one step, so that a run makes progress even if its time is too short.
#pragma once

#include <chrono>
#include <functional>

#include "ridgeline/train/loop/callback.h"

namespace ridgeline::train {

class TimeLimit : public Callback {
 public:
  // `saving`: the seconds of the longest save so far; 0: none yet.
  TimeLimit(std::chrono::steady_clock::time_point end, std::function<double()> saving)
      : end_(end), saving_(std::move(saving)) {}

  std::int64_t next_stop(std::int64_t step) const override { return measured_ ? kNever : step + 1; }
  void begin(RunContext& context) override;
  void step_end(RunContext& context) override;

 private:
  std::chrono::steady_clock::time_point end_;
  std::function<double()> saving_;
  bool measured_ = false;  // whether a step of this run was measured
  double longest_step_ = 0;
};

}  // namespace ridgeline::train
