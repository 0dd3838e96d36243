// ridgeline/train/loop/run_context.h
//
// What callbacks see of a run, and can ask of it: to stop. A view of the model and the feed, valid as long as these
// live.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "ridgeline/core/math.h"
#include "ridgeline/train/loop/feed.h"
#include "ridgeline/train/model.h"

namespace ridgeline::train {

enum class StopReason {
  none,
  requested,    // by a callback
  interrupted,  // by the user
  out_of_time,  // by a limit of time
  no_data,      // the feed ended
  bad_data,     // the feed threw
  not_finite,   // the loss went out of range
  overflows,    // more gradients in a row overflowed than a loss scale can correct
};

class RunContext {
 public:
  RunContext(Model& model, Feed& feed, std::int64_t step, std::int64_t total_steps, std::int64_t steps_per_epoch)
      : model_(model), feed_(feed), step_(step), total_steps_(total_steps), steps_per_epoch_(steps_per_epoch) {}

  // Steps done in the whole run, not only by this process.
  std::int64_t step() const { return step_; }
  std::int64_t total_steps() const { return total_steps_; }
  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  // The largest number of steps of a loop: loops end at multiples of it at the latest.
  std::int64_t nominal_loop() const { return nominal_loop_; }
  // The current epoch, from 1 on; in step_end, the epoch of the last step.
  std::int64_t epoch() const { return epoch_; }
  std::int64_t step_in_epoch() const { return step_ - (epoch_ - 1) * steps_per_epoch_; }
  // The following are about the loop that has just ended.
  std::int64_t loop_steps() const { return loop_steps_; }
  double loop_seconds() const { return loop_seconds_; }
  // Steps of this process that changed nothing and did not count, because their gradients overflowed under a loss
  // scale.
  std::int64_t skipped_steps() const { return skipped_steps_; }
  // Mean of the losses of its steps.
  double loop_loss() const { return loop_losses_ > 0 ? loop_loss_sum_ / static_cast<double>(loop_losses_) : 0; }
  // Steps done, counted in memory while a loop runs: any thread may read it at any time.
  std::shared_ptr<const std::atomic<std::int64_t>> live_step() const { return live_step_; }
  // Whether that loop finished an epoch.
  bool finished_epoch() const { return step_ / steps_per_epoch_ > loop_begin_ / steps_per_epoch_; }
  bool last() const { return step_ >= total_steps_; }

  // What the last step returned, by name: "loss", "total_loss", "learning_rate" and what else the network returns
  // ("loss:0" is the same). Valid until the next step. An Error for an unknown name, or before the first step.
  Tensor fetch(const std::string& name) const;
  // The same Error for an unknown name, at any time.
  void check_name(const std::string& name) const;
  double value(const std::string& name) const { return plain_nan(fetch(name).at(0)); }
  double loss() const { return value(nn::kLossResult); }
  double learning_rate() const { return value(nn::kRateResult); }
  // Whether a step was done in this process.
  bool has_outputs() const { return has_outputs_; }

  // To be called when the step is compiled again: its returned values are gone.
  void outputs_are_gone() { has_outputs_ = false; }
  // The last step was stopped in the middle (Session::stop_flag, an error of the device): only some parameters are
  // updated, so they must not be saved.
  bool torn() const { return torn_; }

  Model& model() const { return model_; }
  Feed& feed() const { return feed_; }

  // The run ends after the step that is done.
  void request_stop() { stop(StopReason::requested); }
  void stop(StopReason reason) {
    if (reason_ == StopReason::none) reason_ = reason;
  }
  // Stopped in order to be resumed later.
  bool interrupted() const { return reason_ == StopReason::interrupted || reason_ == StopReason::out_of_time; }
  bool stopping() const { return reason_ != StopReason::none; }
  StopReason reason() const { return reason_; }
  // The run will end with an Error when the hooks have returned.
  bool failing() const {
    return reason_ == StopReason::bad_data || reason_ == StopReason::not_finite || reason_ == StopReason::overflows;
  }

 private:
  friend class Loop;
  Model& model_;
  Feed& feed_;
  std::int64_t step_, total_steps_, steps_per_epoch_;
  std::int64_t nominal_loop_ = 1;
  std::int64_t epoch_ = 1;
  std::int64_t loop_begin_ = 0;  // the step at which it began
  std::int64_t loop_steps_ = 0;
  double loop_seconds_ = 0;
  std::int64_t skipped_steps_ = 0;
  double loop_loss_sum_ = 0;
  std::int64_t loop_losses_ = 0;  // number of losses in the sum: the finite ones
  std::shared_ptr<std::atomic<std::int64_t>> live_step_ = std::make_shared<std::atomic<std::int64_t>>(0);
  bool has_outputs_ = false;
  bool torn_ = false;
  StopReason reason_ = StopReason::none;
};

}  // namespace ridgeline::train
