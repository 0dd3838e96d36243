#include "ridgeline/train/callback/step_log.h"

#include <fmt/format.h>

namespace ridgeline::train {
namespace {

constexpr double kLongRun = 120;  // seconds: of longer ones the log says how long they will take

}  // namespace

bool StepLog::due(std::int64_t step) const {
  if (step != 1 && step % options_.display != 0) return false;
  return step % options_.summary == 0 || (options_.every_loop && step % options_.loop == 0);
}

void StepLog::epoch_begin(RunContext&) {
  if (!header_) log_.line(kStepHeader);
  header_ = true;
}

void StepLog::step_end(RunContext& context) {
  seconds_ += context.loop_seconds();
  steps_ += context.loop_steps();
  // A loop whose steps did not count ends where it began.
  const bool new_step = context.step() != last_.step && context.has_outputs();
  if (steps_ > 0 && new_step && (context.stopping() || context.last() || due(context.step()))) write(context);
  if (context.stopping()) return;
  const double rate = seconds_ > 0 ? static_cast<double>(options_.batch_size * steps_) / seconds_ : last_.fps;
  log_.progress("training", context.step(), context.total_steps(), rate);
}

void StepLog::write(const RunContext& context) {
  StepLine line;
  line.step = context.step();
  line.epoch = static_cast<double>(line.step * options_.batch_size) / static_cast<double>(options_.records);
  line.loss = context.loss();
  line.total_loss = context.value(nn::kTotalLossResult);
  line.lr = context.learning_rate();
  // A loop that was cut short counts by its share, so FPS * batch_time = batch * iterations_per_loop always holds.
  line.batch_time = seconds_ * static_cast<double>(options_.loop) / static_cast<double>(steps_);
  line.fps = static_cast<double>(options_.batch_size * options_.loop) / line.batch_time;
  log_.line(to_text(line));
  const bool first = last_.step == 0;
  const double left = static_cast<double>(context.total_steps() - line.step) * seconds_ / static_cast<double>(steps_);
  if (first && left > kLongRun) {
    log_.line(fmt::format("about {} for the {} steps left", duration_text(left), context.total_steps() - line.step));
  }
  last_ = line;
  seconds_ = 0;
  steps_ = 0;
}

void StepLog::end(RunContext& context) {
  if (!header_ && !context.stopping()) log_.line(fmt::format("the run has already done its {} steps", context.step()));
}

}  // namespace ridgeline::train
