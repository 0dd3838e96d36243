#include "ridgeline/train/callback/ranks_report.h"

#include <fmt/format.h>

#include "ridgeline/train/ranks/ranks.h"

namespace ridgeline::train {

void RanksReport::step_begin(RunContext& context) { before_ = Ranks(context.model().session()).traffic(); }

void RanksReport::step_end(RunContext& context) {
  if (context.loop_steps() == 0) return;
  const comm::Traffic now = Ranks(context.model().session()).traffic();
  if (steps_ > 0 && !started_) {
    sent_ = {};
    seconds_ = 0;
    steps_ = 0;
    started_ = true;
  }
  sent_.calls += now.calls - before_.calls;
  sent_.bytes += now.bytes - before_.bytes;
  seconds_ += context.loop_seconds();
  steps_ += context.loop_steps();
}

void RanksReport::end(RunContext& context) {
  if (steps_ == 0) return;
  const auto steps = static_cast<double>(steps_);
  std::string line = fmt::format("ranks: a step takes {:.3g} ms", 1e3 * seconds_ / steps);
  if (const double estimate = context.model().estimated_seconds(); estimate > 0)
    line += fmt::format(" (estimated {:.3g} ms)", 1e3 * estimate);
  line += fmt::format(", and rank {} sends {:.3f} MB in {:.1f} calls", Ranks(context.model().session()).rank(),
                      static_cast<double>(sent_.bytes) / 1e6 / steps, static_cast<double>(sent_.calls) / steps);
  log_.line(line);
}

}  // namespace ridgeline::train
