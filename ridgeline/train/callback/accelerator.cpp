#include "ridgeline/train/callback/accelerator.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline::train {
namespace {

// Below this time the switch may cost more than it saves.
constexpr double kWorthSeconds = 3600;

// An op that reads 16-bit values and is not just a conversion.
bool has_narrow_op(const Graph& graph) {
  const auto narrow = [&](ValueId id) {
    const DType dtype = graph.value(id).type.dtype;
    return dtype == DType::bf16 || dtype == DType::f16;
  };
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return !op_def(node.op).has(kCast) && std::any_of(node.inputs.begin(), node.inputs.end(), narrow);
  });
}

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

void Accelerator::begin(RunContext& context) {
  say(fmt::format("accelerate_train_mode is experimental: {} precision {}", options_.mode.type,
                  options_.phase == PrecisionPhase::original ? "is over, the run goes on in the original precision"
                                                             : "first, the original precision last"));
  if (options_.phase == PrecisionPhase::original) return;
  check_progress(options_.mode, with_environment(progress_));
  if (has_narrow_op(context.model().training().graph())) return;
  throw Error(
      fmt::format("accelerate_train_mode {}: no op of the step is in 16 bits: the device {} has no kernels of "
                  "that type, everything keeps its type, or the step was not prepared in reduced precision",
                  options_.mode.type, context.model().session().device().name()));
}

void Accelerator::step_begin(RunContext& context) {
  if (options_.phase == PrecisionPhase::original || context.step() % context.nominal_loop() != 0) return;
  const TrainingProgress progress = with_environment(progress_);
  if (!switch_due(options_.mode, progress, context.nominal_loop())) return;
  const bool by_step = options_.mode.trigger == AccelerateMode::Trigger::step;
  say(fmt::format("trigger recompile when {} is {}", by_step ? "step" : "loss",
                  by_step ? fmt::format("{}", *progress.step_now) : fmt::format("{}", *progress.loss_now)));
  const std::int64_t asked = switch_step(options_.mode, progress);
  if (by_step && asked != *progress.step_now) {
    say(fmt::format("warning: the switch was asked for step {}, loops of {} steps put it at step {}", asked,
                    context.nominal_loop(), *progress.step_now));
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
  say(fmt::format(
      "accelerate_train_mode: {} steps in {} precision ({:.2f} s, {:.2f} ms each), {} steps in the original one "
      "({:.2f} s, {:.2f} ms each), {:.2f} s to compile again",
      reduced.steps, options_.mode.type, reduced.seconds, 1e3 * reduced.per_step(), original.steps, original.seconds,
      1e3 * original.per_step(), compile_seconds_));
  if (options_.phase == PrecisionPhase::reduced && context.last()) {
    say(fmt::format("warning: {}, so the whole run was done in reduced precision",
                    options_.mode.trigger == AccelerateMode::Trigger::loss
                        ? "the loss never came near its target"
                        : "the run ended before the step of the switch"));
  }
  if (reduced.steps == 0 || original.steps == 0) return;
  const double gain =
      static_cast<double>(reduced.steps) * (original.per_step() - reduced.per_step()) - compile_seconds_;
  say(fmt::format("accelerate_train_mode: {} {:.2f} s of {:.2f} s{}", gain >= 0 ? "gained" : "lost",
                  gain >= 0 ? gain : -gain, total, total < kWorthSeconds ? "; runs below an hour may not gain" : ""));
}

}  // namespace ridgeline::train
