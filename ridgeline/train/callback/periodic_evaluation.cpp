#include "ridgeline/train/callback/periodic_evaluation.h"

#include <fmt/format.h>

#include <chrono>

#include "ridgeline/train/loop/interrupt.h"

namespace ridgeline::train {

bool PeriodicEvaluation::due(const RunContext& context) const {
  return context.step() > 0 && (context.last() || is_multiple(context.step(), period_));
}

void PeriodicEvaluation::begin(RunContext& context) {
  last_ = metrics_.evaluation();
  const bool made = last_ && last_->step == context.step();
  if (!made && due(context)) evaluate(context);
}

void PeriodicEvaluation::step_end(RunContext& context) {
  // A loop whose steps did not count ends where it began.
  const bool made = last_ && last_->step == context.step();
  if (!context.stopping() && !made && due(context)) evaluate(context);
}

void PeriodicEvaluation::evaluate(RunContext& context) {
  for (SavesCheckpoints* saver : savers_) saver->save(context);
  log_.line("Evaluating");
  log_.line(fmt::format("Validation dataset size: {}", records_));
  std::optional<EvaluationRow> row = evaluate_();
  if (!row) {
    log_.line(out_of_time() ? "out of time during evaluation" : "Keyboard interrupt during evaluation");
    context.stop(out_of_time() ? StopReason::out_of_time : StopReason::interrupted);
    return;
  }
  row->step = context.step();
  const std::int64_t epoch = (context.step() + context.steps_per_epoch() - 1) / context.steps_per_epoch();
  row->epoch = static_cast<double>(epoch);
  row->checkpoint_time =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  log_.line(row->classifies ? kEvaluationHeader : kLossHeader);
  log_.line(to_text(*row));
  for (const std::string& line : row->metrics) log_.line(line);
  log_.line("Finished evaluation");
  metrics_.write(*row);
  last_ = row;
}

}  // namespace ridgeline::train
