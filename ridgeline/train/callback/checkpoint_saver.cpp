#include "ridgeline/train/callback/checkpoint_saver.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/core/trace.h"
#include "ridgeline/train/checkpoint/finite.h"
#include "ridgeline/train/ranks/ranks.h"

namespace ridgeline::train {
namespace {

[[noreturn]] void stop_not_finite(const RunContext& context, const std::string& what, const std::string& directory) {
  const auto good = newest_finite_checkpoint(directory);
  throw Error(fmt::format("step {}: {}, terminating training. The learning rate ({}) may be too high. {}",
                          context.step(), what, *context.fetch(nn::kRateResult).data<float>(),
                          good ? "The last good checkpoint is " + *good : "There is no checkpoint before it"));
}

}  // namespace

std::int64_t CheckpointSaver::next_stop(std::int64_t step) const {
  std::int64_t stop = kNever;
  for (const std::int64_t period : options_.periods) stop = std::min(stop, next_multiple(step, period));
  return stop;
}

void CheckpointSaver::begin(RunContext&) {
  if (options_.writes && saved_at_ > 0)
    settle_checkpoints(options_.directory, saved_at_, {.newest = options_.keep, .also = kept_});
}

void CheckpointSaver::step_end(RunContext& context) {
  const auto due = [&](std::int64_t period) { return is_multiple(context.step(), period); };
  if (context.step() == 0 || context.torn()) return;
  // In the middle of a step, ended by one rank's data: each rank has its own sums, and the file would have only one's.
  if (context.model().runs_done() > 0 && Ranks(context.model().session()).size() > 1) return;
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - saved_time_;
  bool late = options_.seconds > 0 && since.count() >= options_.seconds;
  // Where all ranks take part in saving, the writer decides when.
  if (options_.seconds > 0 && !context.model().holdings().everything())
    late = Ranks(context.model().session()).largest(options_.writes && late ? 1 : 0) > 0;
  if (late || context.stopping() || context.last() ||
      std::any_of(options_.periods.begin(), options_.periods.end(), due)) {
    save(context);
  }
}

void CheckpointSaver::save(const RunContext& context) {
  if (saved_at_ == context.step()) return;
  const Model& model = context.model();
  const TraceSpan span(model.session().trace(), "checkpoint", "save");
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<NamedTensor> tensors = model.to_file();
  const std::string bad = first_not_finite(tensors);
  if (!bad.empty()) stop_not_finite(context, bad + " holds numbers that are not finite", options_.directory);
  if (!options_.writes) {
    saved_at_ = context.step();
    return;
  }
  CheckpointInfo info;
  info.model = model.network().name;
  info.step = context.step();
  info.steps_per_epoch = context.steps_per_epoch();
  info.data_state = context.feed().state();
  info.other_data = model.other_places(context.feed().data_hash());
  info.plan = model.kernel_plan();
  if (info_) info_(info);
  path_ = save_checkpoint(options_.directory, info, tensors, {.newest = options_.keep, .also = kept_});
  saved_at_ = context.step();
  saved_time_ = std::chrono::steady_clock::now();
  longest_ = std::max(longest_, std::chrono::duration<double>(saved_time_ - begin).count());
}

void FiniteLoss::step_end(RunContext& context) {
  if (context.reason() != StopReason::not_finite) return;
  stop_not_finite(
      context,
      fmt::format("Invalid loss ({}, with the penalty {})", context.loss(), context.value(nn::kTotalLossResult)),
      directory_);
}

}  // namespace ridgeline::train
