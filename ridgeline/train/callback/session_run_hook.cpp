#include "ridgeline/train/callback/session_run_hook.h"

#include <utility>

namespace ridgeline::train {

void SessionRunHook::begin(RunContext& context) {
  begin();
  after_create_session(context.model());
}

void SessionRunHook::step_begin(RunContext& context) {
  wanted_ = before_run(context);
  for (const std::string& name : wanted_) context.check_name(name);
  running_ = true;
}

void SessionRunHook::step_end(RunContext& context) {
  // A run that was stopped before a step was done has no results.
  if (!std::exchange(running_, false) || context.loop_steps() == 0 || !context.has_outputs()) return;
  Values values;
  for (const std::string& name : wanted_) values.emplace(name, context.fetch(name));
  after_run(context, values);
}

void SessionRunHook::end(RunContext& context) { end(context.model()); }

}  // namespace ridgeline::train
