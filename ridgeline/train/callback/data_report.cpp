#include "ridgeline/train/callback/data_report.h"

#include <fmt/format.h>

namespace ridgeline::train {

void DataReport::step_end(RunContext& context) {
  if (!context.stopping() && context.finished_epoch()) report(context);
}

void DataReport::end(RunContext& context) {
  report(context);
  const std::string advice = iterator_.stats().advice();
  if (!advice.empty()) log_.line(advice);
}

void DataReport::report(const RunContext& context) {
  const std::int64_t count = iterator_.bad_samples();
  if (count == reported_) return;
  reported_ = count;
  log_.line(fmt::format("bad samples: {} replaced so far (at most {}: --bad_sample_budget){}", count, options_.budget,
                        options_.quarantine.empty() ? "" : ", listed in " + options_.quarantine));
  metrics_.write_bad_samples(
      context.step(), static_cast<double>(context.step()) / static_cast<double>(context.steps_per_epoch()), count);
}

void StopNotice::say(const RunContext& context) {
  const bool by_error = context.reason() == StopReason::bad_data || context.reason() == StopReason::overflows;
  if (!by_error && context.reason() != StopReason::interrupted) return;
  const std::string saved = context.step() > 0 ? saved_() : "";
  log_.line(fmt::format("{} after step {}{}", by_error ? "stopped" : "interrupted", context.step(),
                        saved.empty() ? "" : ", saved " + saved));
}

}  // namespace ridgeline::train
