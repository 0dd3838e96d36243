#include "ridgeline/train/callback/data_report.h"

#include <fmt/format.h>

#include <array>

#include "ridgeline/data/runtime/advice.h"
#include "ridgeline/train/ranks/ranks.h"

namespace ridgeline::train {

namespace {

// During the run waiting is reported if it costs much and start-up is over; at its end if it costs anything.
constexpr double kSoonSeconds = 10, kSoonShare = 0.25;

}  // namespace

void DataReport::advise(double least_share) {
  const data::RunStats stats = feed_.stats();
  const std::string advice =
      data::advice_of(stats, {.workers = "--num_workers", .memory = "--batch_memory", .image_size = "--image_size"});
  if (advised_ || advice.empty() || stats.consumer_wait_seconds < least_share * stats.seconds) return;
  advised_ = true;
  log_.line("advice: " + advice);
}

void DataReport::step_end(RunContext& context) {
  seconds_ += context.loop_seconds();
  if (!advised_ && seconds_ > kSoonSeconds) advise(kSoonShare);
  if (!context.stopping() && context.finished_epoch()) report(context);
}

void DataReport::end(RunContext& context) {
  report(context);
  advise(0);
}

void DataReport::report(const RunContext& context) {
  std::array<double, 1> all = {static_cast<double>(feed_.bad_samples())};
  if (shared_) Ranks::with_batch(context.model().session()).sum(all);
  const auto count = static_cast<std::int64_t>(all[0]);
  if (count == reported_) return;
  reported_ = count;
  const char* how = options_.policy == data::BadSamplePolicy::skip ? "left out" : "replaced";
  log_.line(fmt::format("bad samples: {} {} so far (at most {}{}: --bad_sample_budget){}", count, how, options_.budget,
                        shared_ ? " a rank" : "",
                        options_.quarantine.empty() ? "" : ", listed in " + options_.quarantine));
  metrics_.write_bad_samples(
      context.step(), static_cast<double>(context.step()) / static_cast<double>(context.steps_per_epoch()), count);
}

void StopNotice::say(const RunContext& context) {
  const bool by_error = context.reason() == StopReason::bad_data || context.reason() == StopReason::overflows;
  if (!by_error && !context.interrupted()) return;
  const std::string saved = context.step() > 0 ? saved_() : "";
  const std::string where = fmt::format(" after step {}{}", context.step(), saved.empty() ? "" : ", saved " + saved);
  if (context.reason() == StopReason::out_of_time)
    log_.line(fmt::format("{}: stopped in time{}{}", limit_, where, saved.empty() ? "" : "; the same command goes on"));
  else
    log_.line((by_error ? "stopped" : "interrupted") + where);
}

}  // namespace ridgeline::train
