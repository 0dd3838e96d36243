#include "ridgeline/train/callback/epoch_log.h"

#include <fmt/format.h>

namespace ridgeline::train {

void EpochLog::begin(RunContext& context) {
  steps_per_epoch_ = context.steps_per_epoch();
  steps_ = 0;
  seconds_ = loss_ = 0;
}

void EpochLog::step_end(RunContext& context) {
  const std::int64_t steps = context.loop_steps();
  steps_ += steps;
  seconds_ += context.loop_seconds();
  loss_ += context.loop_loss() * static_cast<double>(steps);
  if (!context.finished_epoch() || steps_ == 0) return;
  const auto count = static_cast<double>(steps_);
  const std::int64_t epoch = context.step() / steps_per_epoch_;
  const std::int64_t epochs = (context.total_steps() + steps_per_epoch_ - 1) / steps_per_epoch_;
  std::string line = fmt::format("epoch {:3d}/{}  loss:{:6.3f}  FPS:{:7.1f}  {}", epoch, epochs, loss_ / count,
                                 count * static_cast<double>(batch_size_) / seconds_, duration_text(seconds_));
  const double left = static_cast<double>(context.total_steps() - context.step()) * seconds_ / count;
  if (!context.last()) line += fmt::format(", about {} for the epochs left", duration_text(left));
  log_.line(line);
  steps_ = 0;
  seconds_ = loss_ = 0;
}

}  // namespace ridgeline::train
