#include "ridgeline/device/cuda/cudnn/convolution_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ridgeline/core/error.h"

namespace ridgeline::cuda::cudnn {
namespace {

constexpr std::size_t kTimedPlans = 8;

}  // namespace

ConvolutionPlans::ConvolutionPlans(Libraries& libraries, const Convolution& convolution, const PlanRules& rules)
    : libraries_(libraries), convolution_(convolution), rules_(rules), key_(convolution.text() + "; " + rules.text()) {
  for (const ConvolutionValue& value : values_of(convolution)) {
    ids_.push_back(value.id);
    bytes_.push_back(value.type.bytes());
  }
  take_kept();
  if (!plan_ && libraries_.clock()) take_fastest();
  if (!plan_) take_first();
  workspace_bytes_ = plan_->workspace_bytes();
}

void ConvolutionPlans::take_kept() {
  if (libraries_.cudnn().handle() == nullptr) return;  // plans are kept for a card
  const std::optional<StoredPlan> stored = libraries_.folder().read(key_);
  if (!stored || (libraries_.clock() && !stored->timed)) return;
  try {
    plan_ = Plan::from_json(libraries_.cudnn(), stored->plan, stored->name);
    reason_ = stored->timed ? "kept, the fastest" : "kept";
  } catch (const Failure& failure) {
    libraries_.warn(fmt::format("the kept plan of {} is not taken ({})", key_, failure.what()));
  }
}

void ConvolutionPlans::take_fastest() {
  struct Timed {
    double milliseconds;
    Plan plan;
  };
  std::vector<Timed> timed;
  while (timed.size() < kTimedPlans) {
    std::optional<Plan> plan = next_candidate();
    if (!plan) break;
    const double milliseconds = libraries_.clock()(trial_of(*plan));
    timed.push_back({milliseconds, std::move(*plan)});
  }
  if (timed.empty()) throw Failure(why_none(), 0);
  const double first = timed.front().milliseconds;
  std::stable_sort(timed.begin(), timed.end(),
                   [](const Timed& a, const Timed& b) { return a.milliseconds < b.milliseconds; });
  if (std::isinf(timed.front().milliseconds)) throw Failure("none of its plans runs on this card", 0);
  reason_ =
      fmt::format("fastest of {}: {:.4f} ms, the first {:.4f} ms", timed.size(), timed.front().milliseconds, first);
  for (Timed& one : timed) others_.push_back(std::move(one.plan));
  plan_ = std::move(others_.front());
  others_.erase(others_.begin());
  keep(true);
}

void ConvolutionPlans::take_first() {
  plan_ = next_candidate();
  if (!plan_) throw Failure(why_none(), 0);
  reason_ = fmt::format("first of {} engines", candidates().engines());
  keep(false);
}

void ConvolutionPlans::keep(bool timed) {
  if (libraries_.cudnn().handle() == nullptr) return;
  try {
    libraries_.folder().write(key_, {plan_->name(), timed, plan_->json()});
  } catch (const Failure&) {  // an engine whose plans cannot be written is found again by the heuristics
  }
}

Candidates& ConvolutionPlans::candidates() {
  if (!candidates_) {
    candidates_ = std::make_unique<Candidates>(libraries_.cudnn(),
                                               graph_of(libraries_.cudnn().functions(), convolution_), rules_);
  }
  return *candidates_;
}

std::optional<Plan> ConvolutionPlans::next_candidate() {
  while (std::optional<Plan> plan = candidates().next()) {
    if ((!convolution_.relu && !convolution_.gate) || libraries_.keeps_nan(trial_of(*plan))) return plan;
    ++lose_nan_;
  }
  return std::nullopt;
}

std::string ConvolutionPlans::why_none() {
  if (lose_nan_ == 0) return candidates().why_none();
  return fmt::format("{} of its plans make 0 of NaN", lose_nan_);
}

Trial ConvolutionPlans::trial_of(const Plan& plan) {
  const Target& target = libraries_.cudnn();
  return {bytes_, 2, convolution_.written, plan.workspace_bytes(),
          [this, &plan, &target](void* const* values, void* workspace, StreamHandle stream) {
            target.functions().check(target.functions().set_stream(target.handle(), stream), "cuDNN takes a stream");
            plan.run(target.handle(), ids_, {values, ids_.size()}, workspace);
          }};
}

void ConvolutionPlans::run(std::span<void* const> addresses, void* workspace, void* stream) {
  const Target& target = libraries_.cudnn();
  target.functions().check(target.functions().set_stream(target.handle(), stream), "cuDNN takes a stream");
  for (;;) {
    try {
      plan_->run(target.handle(), ids_, addresses, workspace);
      return;
    } catch (const Failure& failure) {
      const std::string failed = plan_->name();
      std::optional<Plan> other;
      do {
        if (!others_.empty()) {
          other = std::move(others_.front());
          others_.erase(others_.begin());
        } else if (convolution_.relu || convolution_.gate) {
          other.reset();  // nobody has looked whether it keeps NaN, and this is no time for it
        } else {
          other = candidates().next();
        }
        // One that was kept comes again.
      } while (other && (other->workspace_bytes() > workspace_bytes_ || other->name() == failed));
      if (!other) {
        throw Error(fmt::format("[cuda] {}: {} failed ({}), and cuDNN has no other plan", convolution_.text(), failed,
                                failure.what()));
      }
      libraries_.warn(fmt::format("{}: {} failed ({}), {} takes its place", convolution_.text(), failed, failure.what(),
                                  other->name()));
      plan_ = std::move(other);
      keep(false);
    }
  }
}

}  // namespace ridgeline::cuda::cudnn
