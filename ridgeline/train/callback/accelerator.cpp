#include "ridgeline/train/callback/accelerator.h"

#include <fmt/format.h>

#include <chrono>

#include "ridgeline/core/error.h"

namespace ridgeline::train {
namespace {

// Below, what the switch costs may be more than it saves.
constexpr double kWorthSeconds = 3600;

}  // namespace

TellMeStepOrLossHook::TellMeStepOrLossHook(TellMeOptions options, TrainingProgress& progress)
    : options_(std::move(options)), progress_(progress) {
  if (options_.step.empty() && options_.loss.empty())
    throw Error("One of step or loss must be specified", ErrorKind::usage);
  if (!options_.step.empty()) {
    progress_.step_now = 0;
    progress_.total_step = options_.total_step;
  }
  if (!options_.loss.empty()) {
    progress_.loss_now = 0;
    progress_.target_loss = options_.final_loss;
  }
}

void TellMeStepOrLossHook::begin(RunContext& context) {
  for (const std::string& name : {options_.step, options_.loss}) {
    if (!name.empty()) context.check_name(name);
  }
  if (!options_.step.empty()) progress_.step_now = context.step();
}

void TellMeStepOrLossHook::step_end(RunContext& context) {
  if (!context.has_outputs()) return;
  if (!options_.step.empty()) progress_.step_now = static_cast<std::int64_t>(context.value(options_.step));
  if (!options_.loss.empty()) progress_.loss_now = context.value(options_.loss);
}

void Accelerator::begin(RunContext&) {
  options_.log(fmt::format("accelerate_train_mode is experimental: {} precision {}", options_.mode.type,
                           options_.phase == PrecisionPhase::original
                               ? "is over, the run goes on in the original precision"
                               : "first, the original precision last"));
  if (options_.phase == PrecisionPhase::reduced) check_progress(options_.mode, with_environment(progress_));
}

void Accelerator::step_begin(RunContext& context) {
  if (options_.phase == PrecisionPhase::original || context.step() % options_.loop != 0) return;
  const TrainingProgress progress = with_environment(progress_);
  if (!switch_due(options_.mode, progress, options_.loop)) return;
  const bool by_step = options_.mode.trigger == AccelerateMode::Trigger::step;
  options_.log(fmt::format("trigger recompile when {} is {}", by_step ? "step" : "loss",
                           by_step ? fmt::format("{}", *progress.step_now) : fmt::format("{}", *progress.loss_now)));
  const std::int64_t asked = switch_step(options_.mode, progress);
  if (by_step && asked != *progress.step_now) {
    options_.log(fmt::format("warning: the switch was asked for step {}, loops of {} steps put it at step {}", asked,
                             options_.loop, *progress.step_now));
  }
  const auto begin = std::chrono::steady_clock::now();
  context.model().recompile_training(options_.original);
  compile_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  context.outputs_are_gone();
  options_.phase = PrecisionPhase::original;
}

void Accelerator::step_end(RunContext& context) {
  part().steps += context.loop_steps();
  part().seconds += context.loop_seconds();
}

void Accelerator::end(RunContext& context) {
  const Part &reduced = parts_[0], &original = parts_[1];
  const double total = reduced.seconds + original.seconds + compile_seconds_;
  options_.log(fmt::format(
      "accelerate_train_mode: {} steps in {} precision ({:.2f} s, {:.2f} ms each), {} steps in the original one "
      "({:.2f} s, {:.2f} ms each), {:.2f} s to compile again",
      reduced.steps, options_.mode.type, reduced.seconds, 1e3 * reduced.per_step(), original.steps, original.seconds,
      1e3 * original.per_step(), compile_seconds_));
  if (options_.phase == PrecisionPhase::reduced && context.last()) {
    options_.log("warning: the loss never came near its target, so the whole run was done in reduced precision");
  }
  if (reduced.steps == 0 || original.steps == 0) return;
  const double gain =
      static_cast<double>(reduced.steps) * (original.per_step() - reduced.per_step()) - compile_seconds_;
  options_.log(fmt::format("accelerate_train_mode: {} {:.2f} s of {:.2f} s{}", gain >= 0 ? "gained" : "lost",
                           gain >= 0 ? gain : -gain, total,
                           total < kWorthSeconds ? "; runs below an hour may not gain" : ""));
}

}  // namespace ridgeline::train
