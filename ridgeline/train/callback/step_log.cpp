#include "ridgeline/train/callback/step_log.h"

#include <fmt/format.h>

namespace ridgeline::train {
namespace {
constexpr double kStandstill = 10;  // overflows in a row that get a line; then ten times as many
}  // namespace

bool StepLog::due(std::int64_t step) const {
  if (step != 1 && step % options_.display != 0) return false;
  return step % options_.summary == 0 || (options_.every_loop && step % options_.loop == 0);
}

void StepLog::begin(RunContext& context) {
  watch_.emplace(ProgressOptions{.total_steps = context.total_steps(), .batch_size = options_.batch_size},
                 context.live_step(), log_);
  skipped_ = skipped_told_ = options_.skipped;
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
  skipped_ = options_.skipped + context.skipped_steps();
  if (steps_ > 0 && new_step && (context.stopping() || context.last() || due(context.step()))) {
    write(context);
    tell_skipped(context);
  }
  if (context.stopping()) {
    watch_.reset();
    tell_skipped(context);
  } else {
    tell_standstill(context);
  }
}

// Of steps that do not count there are no lines: without this one, a run that gets nowhere would look as if it hung.
void StepLog::tell_standstill(const RunContext& context) {
  if (!context.has_outputs() || !context.model().skips_overflows()) return;
  const double in_a_row = context.value(nn::kOverflowsResult);
  if (in_a_row == 0) standstill_told_ = 0;
  if (in_a_row < kStandstill || in_a_row < kStandstill * standstill_told_) return;
  standstill_told_ = in_a_row;
  skipped_told_ = skipped_;
  log_.line(
      fmt::format("skipped steps: {:g} in a row, as their gradients overflowed (loss scale {:g}); the run stands at "
                  "step {} and ends after {}",
                  in_a_row, context.model().loss_scale(), context.step(), optim::kMostOverflows));
}

void StepLog::tell_skipped(const RunContext& context) {
  if (skipped_ == skipped_told_) return;
  skipped_told_ = skipped_;
  log_.line(fmt::format("skipped steps: {} so far, as their gradients overflowed (loss scale {:g})", skipped_,
                        context.model().loss_scale()));
}

void StepLog::write(const RunContext& context) {
  StepLine line;
  line.step = context.step();
  line.epoch = static_cast<double>(line.step * options_.batch_size) / static_cast<double>(options_.records);
  line.loss = context.loss();
  line.total_loss = context.value(nn::kTotalLossResult);
  line.lr = context.learning_rate();
  if (context.model().skips_overflows()) line.skipped_steps = skipped_;
  // A shorter loop counts by its share, so FPS * batch_time = batch * iterations_per_loop always holds.
  line.batch_time = seconds_ * static_cast<double>(options_.loop) / static_cast<double>(steps_);
  line.fps = static_cast<double>(options_.batch_size * options_.loop) / line.batch_time;
  log_.line(to_text(line));
  const std::int64_t left = context.total_steps() - line.step;
  if (watch_) watch_->tell(static_cast<double>(left) * seconds_ / static_cast<double>(steps_), left);
  if (lines_++ > 0) fps_sum_ += line.fps;
  last_ = line;
  seconds_ = 0;
  steps_ = 0;
}

void StepLog::end(RunContext& context) {
  watch_.reset();
  if (!header_ && !context.stopping()) log_.line(fmt::format("the run has already done its {} steps", context.step()));
}

}  // namespace ridgeline::train
