#include "ridgeline/train/callback/monitors.h"

#include <errno.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "ridgeline/core/error.h"
#include "ridgeline/train/loop/interrupt.h"

namespace ridgeline::train {

void print_line(const std::string& line) {
  std::printf("%s\n", line.c_str());
  if (std::fflush(stdout) == 0 || errno != EPIPE) return;
  std::clearerr(stdout);
  set_interrupted(true);
}

LossMonitor::LossMonitor(std::int64_t per_print_times, LineSink sink)
    : every_(per_print_times), sink_(std::move(sink)) {
  if (every_ < 0) {
    throw Error(fmt::format("The argument 'per_print_times' must be int and >= 0, but got {}", every_),
                ErrorKind::usage);
  }
}

void LossMonitor::step_end(RunContext& context) {
  if (!context.has_outputs()) return;
  const double loss = context.loss();
  if (!std::isfinite(loss) && context.reason() == StopReason::not_finite) {
    throw Error(fmt::format("epoch: {} step: {}. Invalid loss, terminating training.", context.epoch(),
                            context.step_in_epoch()));
  }
  if (every_ == 0 || context.step() - printed_ < every_) return;
  printed_ = context.step();
  sink_(fmt::format("epoch: {} step: {}, loss is {}", context.epoch(), context.step_in_epoch(),
                    static_cast<float>(loss)));
}

TimeMonitor::TimeMonitor(std::int64_t data_size, LineSink sink) : data_size_(data_size), sink_(std::move(sink)) {
  if (data_size < 0) {
    throw Error(fmt::format("The argument 'data_size' must be int and >= 0, but got {}", data_size), ErrorKind::usage);
  }
}

void TimeMonitor::epoch_begin(RunContext& context) {
  begin_ = std::chrono::steady_clock::now();
  first_step_ = context.step();
}

void TimeMonitor::epoch_end(RunContext& context) {
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_).count();
  const std::int64_t steps = data_size_ > 0 ? data_size_ : context.step() - first_step_;
  sink_(fmt::format("epoch time: {:5.3f} ms, per step time: {:5.3f} ms", ms, ms / static_cast<double>(steps)));
}

void LearningRateMonitor::step_end(RunContext& context) {
  if (!context.has_outputs()) return;
  sink_(fmt::format("epoch: {} step: {}, learning rate is {}", context.epoch(), context.step_in_epoch(),
                    static_cast<float>(context.learning_rate())));
}

}  // namespace ridgeline::train
