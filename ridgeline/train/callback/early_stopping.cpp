#include "ridgeline/train/callback/early_stopping.h"

#include <fmt/format.h>

#include <cmath>

#include "ridgeline/core/error.h"

namespace ridgeline::train {

EarlyStopping::EarlyStopping(EarlyStoppingOptions options) : options_(std::move(options)) {
  if (options_.patience < 1)
    throw Error(fmt::format("patience is {}; 1 or more is meant", options_.patience), ErrorKind::usage);
  if (!(options_.min_delta >= 0))
    throw Error(fmt::format("min_delta is {}; it must not be negative", options_.min_delta), ErrorKind::usage);
}

void EarlyStopping::count(double value) {
  const double better_by = !best_ ? 0 : options_.greater_is_better ? value - *best_ : *best_ - value;
  if (!std::isnan(value) && (!best_ || better_by > options_.min_delta)) {
    best_ = value;
    waited_ = 0;
  } else {
    ++waited_;
  }
}

void EarlyStopping::begin(RunContext& context) {
  if (options_.measure) {
    if (const std::optional<double> value = options_.measure(context)) count(*value);
  }
  stop_if_due(context);
}

void EarlyStopping::step_end(RunContext& context) {
  if (context.stopping()) return;
  std::optional<double> value;
  if (options_.measure) {
    value = options_.measure(context);
  } else if (context.has_outputs() && context.finished_epoch()) {
    value = context.loss();
  }
  if (!value) return;
  count(*value);
  stop_if_due(context);
}

void EarlyStopping::stop_if_due(RunContext& context) const {
  if (context.stopping() || waited_ < options_.patience) return;
  if (options_.log) {
    options_.log(fmt::format("early stop after step {}: {} has not been {} for {} times", context.step(), options_.what,
                             best_ ? fmt::format("better than {:.6g}", *best_) : "a number", waited_));
  }
  context.request_stop();
}

}  // namespace ridgeline::train
