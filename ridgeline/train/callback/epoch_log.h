// ridgeline/train/callback/epoch_log.h
//
// A line of the human log for each epoch, from its loops; loops end where epochs do.
#pragma once

#include "ridgeline/train/loop/callback.h"
#include "ridgeline/train/training_log.h"

namespace ridgeline::train {

class EpochLog : public Callback {
 public:
  // `batch_size` images a step.
  EpochLog(std::int64_t batch_size, TrainingLog& log) : batch_size_(batch_size), log_(log) {}

  std::int64_t next_stop(std::int64_t step) const override { return next_multiple(step, steps_per_epoch_); }
  void begin(RunContext& context) override;
  // "epoch 3/30 loss: 1.234 FPS: 1200.1 45 s, about 20 min for the epochs left": means over this process's steps of the
  // epoch.
  void step_end(RunContext& context) override;

 private:
  std::int64_t batch_size_;
  TrainingLog& log_;
  std::int64_t steps_per_epoch_ = 0;
  std::int64_t steps_ = 0;  // since the last line
  double seconds_ = 0, loss_ = 0;
};

}  // namespace ridgeline::train
