#include "ridgeline/train/loop/loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"
#include "ridgeline/train/loop/interrupt.h"

namespace ridgeline::train {

Loop::Loop(Model& model, Feed& feed, const LoopOptions& options)
    : options_(options),
      context_(model, feed, model.global_step(), options.total_steps,
               std::max<std::int64_t>(1, options.steps_per_epoch)),
      ranks_(model.session()) {
  *context_.live_step_ = context_.step_;
  context_.nominal_loop_ = options.loop;
  watches_overflows_ = model.training().graph().find_return(nn::kOverflowsResult) != kNoValue;
  if (options.loop < 1) throw Error(fmt::format("a loop of {} steps; 1 or more are meant", options.loop));
  if (model.runs_done() >= model.runs_per_step()) {
    throw Error(
        fmt::format("the model has accumulated {} batches of a step, which takes {} here: it goes on with the "
                    "number that it was saved with",
                    model.runs_done(), model.runs_per_step()));
  }
}

RunContext Loop::run(std::span<Callback* const> callbacks, const std::source_location& at) {
  for (std::size_t i = 0; i < callbacks.size(); ++i) {
    if (callbacks[i] != nullptr) continue;
    throw Error(fmt::format("callback {} of {} is null{}", i + 1, callbacks.size(), behind_message(at)),
                ErrorKind::usage);
  }
  context_.step_ = context_.model_.global_step();
  context_.reason_ = StopReason::none;
  data_error_ = nullptr;
  if (watches_overflows_) overflows_ = context_.model_.overflows_in_a_row();
  try {
    run_steps(callbacks);
    keep_place();
  } catch (...) {
    try {
      keep_place();
    } catch (...) {  // the first error is the one to be told
    }
    for (Callback* callback : callbacks) {
      try {
        callback->failed(context_);
      } catch (...) {  // the first error is the one to be told
      }
    }
    throw;
  }
  return context_;
}

void Loop::keep_place() const {
  const Feed& feed = context_.feed_;
  if (feed.data_hash() != 0) context_.model_.stands_at(data::IteratorState::from_json(feed.state()));
}

void Loop::run_steps(std::span<Callback* const> callbacks) {
  const auto each = [&](void (Callback::*hook)(RunContext&)) {
    for (Callback* callback : callbacks) (callback->*hook)(context_);
  };
  each(&Callback::begin);
  bool in_epoch = false;
  while (!context_.last()) {
    if (!context_.stopping()) {
      if (!in_epoch) {
        context_.epoch_ = context_.step_ / context_.steps_per_epoch_ + 1;
        each(&Callback::epoch_begin);
        in_epoch = true;
      }
      each(&Callback::step_begin);
    }
    const std::int64_t stop = next_stop(callbacks);
    if (context_.stopping()) break;
    run_to(stop);
    each(&Callback::step_end);
    if (context_.failing()) throw_fault();
    if (context_.finished_epoch()) {
      each(&Callback::epoch_end);
      in_epoch = false;
    }
  }
  each(&Callback::end);
}

void Loop::throw_fault() const {
  if (data_error_) std::rethrow_exception(data_error_);
  if (context_.reason() == StopReason::overflows) {
    const auto times = static_cast<std::int64_t>(fault_value_);
    if (const std::optional<double> scale = context_.model_.fixed_loss_scale())
      throw Error(
          fmt::format("the gradients overflowed {} times in a row under the fixed loss scale {}: none of these "
                      "steps counted (a lower scale, or a dynamic one, which follows overflows)",
                      times, *scale));
    throw Error(fmt::format("Dynamic loss scale Continuous overflow {} times, has exceeded maximum threshold.", times));
  }
  const std::int64_t step = context_.step() - runs_behind_fault_ / context_.model_.runs_per_step();
  throw Error(fmt::format("step {}: Invalid loss ({}), terminating training.", step, fault_value_));
}

void Loop::run_to(std::int64_t stop) {
  Model& model = context_.model_;
  // A step may take several runs, and some runs may not count: then the model itself counts the steps.
  begun_ = model.runs_done();
  const std::int64_t runs = (stop - context_.step_) * model.runs_per_step() - begun_;
  context_.loop_loss_sum_ = 0;
  context_.loop_losses_ = 0;
  runs_fed_ = runs_noted_ = runs_behind_fault_ = 0;
  fault_ = StopReason::none;
  const auto begin = std::chrono::steady_clock::now();
  const std::int64_t done = model.training().run_loop(runs, [&] { return feed(); }, [&] { return this->done(); });
  if (done == runs) context_.torn_ = false;
  context_.loop_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  context_.loop_steps_ = (begun_ + done) / model.runs_per_step();
  context_.loop_begin_ = context_.step_;
  context_.step_ = model.may_keep_step() ? model.global_step() : context_.step_ + done;
  *context_.live_step_ = context_.step_;
  if (context_.step_ > context_.loop_begin_) context_.epoch_ = (context_.step_ - 1) / context_.steps_per_epoch_ + 1;
  if (context_.torn_) context_.has_outputs_ = false;
  if (fault_ != StopReason::none) {
    context_.reason_ = fault_;  // before anything else that may have stopped it
  } else if (data_error_) {
    context_.reason_ = StopReason::bad_data;
  } else if (model.session().stop_flag() || (ranks_.size() == 1 && interrupted())) {
    // Several ranks agree on that before the next run: a signal reaches them at different moments.
    context_.stop(out_of_time() ? StopReason::out_of_time : StopReason::interrupted);
  }
  RIDGELINE_CHECK(done == runs || context_.stopping(), "the loop ended early");
}

// Binds the next batch; the previous one goes back to its owner. False: the run stops here.
bool Loop::feed() {
  // Within a step each rank has its own sums, so they end only after complete steps.
  const bool may_stop = ranks_.size() == 1 || (begun_ + runs_fed_) % context_.model_.runs_per_step() == 0;
  constexpr int kOutOfTime = 1, kInterrupted = 2;
  const int own = out_of_time() ? kOutOfTime : interrupted() ? kInterrupted : 0;
  if (const int asked = may_stop ? ranks_.largest(own) : 0; asked > 0) {
    context_.stop(asked == kOutOfTime ? StopReason::out_of_time : StopReason::interrupted);
    return false;
  }
  if (!bind_batch()) return false;
  context_.has_outputs_ = true;
  ++runs_fed_;
  context_.torn_ = true;  // until that run, too, has come to its end
  return true;
}

// After each run that has finished; false: no other is started. The same on all ranks, because losses and gradients
// are. What an asynchronous device did is known some runs later.
bool Loop::done() {
  note_run();
  if (fault_ != StopReason::none) {
    ++runs_behind_fault_;
    return false;
  }
  fault_ = fault();
  if (fault_ != StopReason::none)
    fault_value_ = context_.value(fault_ == StopReason::overflows ? nn::kOverflowsResult : nn::kLossResult);
  return fault_ == StopReason::none;
}

// Where one rank has no batch, none runs the step, and the others return theirs.
bool Loop::bind_batch() {
  constexpr int kBound = 0, kNoData = 1, kBroken = 2;  // and the rank
  int end = kBound;
  try {
    if (!context_.feed_.bind_next(context_.model_.training())) end = kNoData;
  } catch (...) {
    data_error_ = std::current_exception();
    end = kBroken + ranks_.rank();
  }
  const int worst = ranks_.largest(end);
  if (worst == kBound) return true;
  if (end == kBound) context_.feed_.give_back();
  if (worst == kNoData) context_.stop(StopReason::no_data);
  if (worst >= kBroken && !data_error_)
    data_error_ = std::make_exception_ptr(Error(fmt::format("[ranks] rank {} cannot read its data", worst - kBroken)));
  return false;
}

// Counts the run that has finished.
void Loop::note_run() {
  ++runs_noted_;
  context_.torn_ = runs_noted_ < runs_fed_;
  if (watches_overflows_) {
    // A run in the middle of a step repeats the result of the step before.
    const double overflows = context_.value(nn::kOverflowsResult);
    if (overflows > overflows_ && context_.model_.skips_overflows()) ++context_.skipped_steps_;
    overflows_ = overflows;
  }
  const double loss = context_.value(nn::kLossResult);
  if (std::isfinite(loss)) {
    context_.loop_loss_sum_ += loss;
    ++context_.loop_losses_;
  }
  *context_.live_step_ = context_.step_ + runs_noted_ / context_.model_.runs_per_step();
}

// For the last counted run. Costs nothing: its returned values are in the host's memory.
StopReason Loop::fault() const {
  if (!context_.has_outputs_) return StopReason::none;
  if (watches_overflows_) {
    const double overflows = context_.value(nn::kOverflowsResult);
    if (overflows > optim::kMostOverflows) return StopReason::overflows;
    // A step that overflowed changed nothing; for an unfinished one this is not known.
    const bool begun = (begun_ + runs_noted_) % context_.model_.runs_per_step() != 0;
    if (overflows > 0 || begun) return StopReason::none;
  }
  if (!options_.stop_if_not_finite) return StopReason::none;
  const bool finite =
      std::isfinite(context_.value(nn::kLossResult)) && std::isfinite(context_.value(nn::kTotalLossResult));
  return finite ? StopReason::none : StopReason::not_finite;
}

std::int64_t Loop::next_stop(std::span<Callback* const> callbacks) {
  const std::int64_t step = context_.step_;
  std::int64_t stop = std::min(context_.total_steps_, next_multiple(step, options_.loop));
  if (options_.cut_at_epochs) stop = std::min(stop, next_multiple(step, context_.steps_per_epoch_));
  for (std::size_t i = 0; i < callbacks.size() && !context_.stopping(); ++i) {
    const std::int64_t wanted = callbacks[i]->next_stop(step);
    if (wanted <= step) {
      throw Error(
          fmt::format("callback {} of {} wants to be called next behind step {}, and {} are done: next_stop() "
                      "names a later step",
                      i + 1, callbacks.size(), wanted, step));
    }
    stop = std::min(stop, wanted);
  }
  // Ranks have different callbacks (one of them writes), but must end loops together for their exchanges: the shortest
  // loop counts for all, and that of a rank whose callback has asked to stop has no steps.
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::int64_t own = context_.stopping() ? 0 : std::min(stop - step, kMost);
  const int steps = -ranks_.largest(-static_cast<int>(own));
  if (steps == 0) context_.request_stop();
  return step + steps;
}

}  // namespace ridgeline::train
