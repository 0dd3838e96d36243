#include "ridgeline/train/callback/advisor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ridgeline/core/math.h"

namespace ridgeline::train {
namespace {

// Where all logits are equal the loss is ln(classes) to its last digits, whatever the labels and their smoothing are.
constexpr double kSameNumber = 2e-6;
constexpr std::int64_t kEqualSteps = 20;
// The loss of a network that has learned nothing is within a hundredth of it, and batches make that noisy.
constexpr double kNear = 0.01;
constexpr std::int64_t kStandingSteps = 200;
constexpr std::int64_t kGrowthSteps = 20;
constexpr double kGrowth = 2;

}  // namespace

Advisor::Advisor(const AdvisorOptions& options, TrainingLog& log)
    : options_(options),
      log_(log),
      guessing_(portable_log(static_cast<double>(std::max<std::int64_t>(2, options.classes)))) {}

void Advisor::step_end(RunContext& context) {
  if (context.loop_steps() == 0 || context.stopping()) return;
  look_for_equal_logits(context);
  look_for_standing(context);
  look_for_growth(context);
}

void Advisor::say(bool& said, const std::string& text) {
  if (!said) log_.line("advice: " + text);
  said = true;
}

void Advisor::look_for_equal_logits(const RunContext& context) {
  const bool equal = std::fabs(context.loop_loss() - guessing_) <= kSameNumber * guessing_;
  equal_steps_ = equal ? equal_steps_ + context.loop_steps() : 0;
  if (equal_steps_ < kEqualSteps) return;
  say(said_equal_,
      fmt::format(
          "the loss is ln({}) = {:.4f} to the last digit: all logits are equal, and nothing is learned any more. {}",
          options_.classes, guessing_,
          options_.final_relu
              ? "The relu behind the last layer is dead: begin anew with --final_relu=False or a lower --lr"
              : "A layer in front of the last one is dead: begin anew with a lower --lr"));
  said_standing_ = true;  // the same, with its cause
}

void Advisor::look_for_standing(const RunContext& context) {
  if (context.step() <= options_.warmup_steps) return;
  standing_.add(context);
  if (standing_.steps < kStandingSteps) return;
  const double mean = standing_.mean();
  standing_ = {};
  if (std::fabs(mean - guessing_) > kNear * guessing_) return;
  say(said_standing_,
      fmt::format("the loss stands at {:.3f}, which is ln({}): so far the network only guesses. Look at the images and "
                  "labels (ridgeline dataset preview), try --lr={:.2g} or {:.2g}, or begin with --weights",
                  mean, options_.classes, context.learning_rate() * 10, context.learning_rate() / 10));
}

void Advisor::look_for_growth(const RunContext& context) {
  growth_.add(context);
  if (growth_.steps < kGrowthSteps) return;
  const double mean = growth_.mean();
  growth_ = {};
  if (least_ > 0 && mean > kGrowth * least_ && mean > kGrowth * guessing_) {
    say(said_growth_, fmt::format("the loss grew from {:.3g} to {:.3g}: a rate of {:.3g} is too high, try --lr={:.2g}",
                                  least_, mean, context.learning_rate(), context.learning_rate() / 10));
  }
  least_ = least_ == 0 ? mean : std::min(least_, mean);
}

}  // namespace ridgeline::train
