#include "ridgeline/train/callback/time_limit.h"

#include <algorithm>

#include "ridgeline/train/loop/interrupt.h"

namespace ridgeline::train {
namespace {

// Steps and saves may take longer than those that were measured: disk and machine are shared.
constexpr double kAgain = 2;
// The rate until a save was measured.
constexpr double kSavedBytesPerSecond = 50e6;

double expected_save(const Model& model) { return static_cast<double>(model.file_bytes()) / kSavedBytesPerSecond; }

}  // namespace

void TimeLimit::begin(RunContext& /*context*/) {
  measured_ = false;
  longest_step_ = 0;
}

void TimeLimit::step_end(RunContext& context) {
  if (context.loop_steps() == 0) return;
  measured_ = true;
  longest_step_ = std::max(longest_step_, context.loop_seconds() / static_cast<double>(context.loop_steps()));
  const double saved = saving_(), saving = saved > 0 ? saved : expected_save(context.model());
  const std::chrono::duration<double> reserve(kAgain * (longest_step_ + saving));
  set_time_limit(end_ - std::chrono::duration_cast<std::chrono::steady_clock::duration>(reserve));
}

}  // namespace ridgeline::train
