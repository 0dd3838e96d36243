#include "ridgeline/train/loop/progress_watch.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace ridgeline::train {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kFewSteps = 3;
// The bar's rate is over about the last so many seconds.
constexpr double kMemory = 10;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

ProgressWatch::ProgressWatch(const ProgressOptions& options, std::shared_ptr<const std::atomic<std::int64_t>> step,
                             TrainingLog& log)
    : options_(options), step_(std::move(step)), log_(log), thread_([this] { watch(); }) {}

ProgressWatch::~ProgressWatch() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void ProgressWatch::tell(double seconds_left, std::int64_t steps_left) {
  if (seconds_left <= options_.long_run || told_.exchange(true)) return;
  log_.line(fmt::format("about {} for the {} steps left", duration_text(seconds_left), steps_left));
}

void ProgressWatch::watch() {
  const auto begin = Clock::now();
  std::int64_t seen = step_->load();
  // The first step, which touches all memory for the first time, does not count for the rate.
  std::int64_t from_step = -1;
  Clock::time_point from;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::duration<double>(options_.period), [this] { return over_; })) {
    const std::int64_t step = step_->load();
    const auto now = Clock::now();
    if (step == seen) continue;  // nothing new, or an evaluation draws its own bar
    seen = step;
    if (from_step < 0) {
      from_step = step;
      from = now;
      continue;
    }
    const double seconds = seconds_between(from, now);
    const double rate = static_cast<double>(step - from_step) / seconds;
    const std::int64_t left = options_.total_steps - step;
    const double seconds_left = static_cast<double>(left) / rate;
    if (step - from_step >= kFewSteps && seconds_between(begin, now) >= options_.settle) tell(seconds_left, left);
    log_.progress("training", step, options_.total_steps, rate * static_cast<double>(options_.batch_size),
                  seconds_left);
    if (seconds > kMemory) {  // half of what is older is forgotten
      from_step += (step - from_step) / 2;
      from += (now - from) / 2;
    }
  }
}

}  // namespace ridgeline::train
