// One batch, learned by heart: what a sound set-up can do within some dozen steps, whatever its data mean.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ridgeline/core/error.h"
#include "ridgeline/core/math.h"
#include "ridgeline/train/doctor/checks.h"
#include "ridgeline/train/interrupt.h"

namespace ridgeline::train {
namespace {

constexpr std::int64_t kSteps = 60, kWarmup = 12;
constexpr std::size_t kLast = 5;  // losses whose mean is the last one
// Of the way from the first loss down to what smoothed labels leave.
constexpr double kLearned = 0.4;
// Tried where the rate of the set-up fails, the likeliest mistake first.
constexpr double kOtherRates[] = {0.1, 0.01, 0.001, 10, 100};

struct Trial {
  double first = 0, last = 0;
  bool finite = true;
  double learned = 0;  // share of the way
};

// What remains of the loss when every prediction is right: the entropy of the smoothed label.
double least_loss(const FirstStep& first) {
  if (first.loss == nullptr || !first.loss->attributes.has("label_smoothing")) return 0;
  const double smoothing = first.loss->attributes.real("label_smoothing");
  if (smoothing == 0) return 0;
  const auto classes = static_cast<double>(first.step.graph.value(first.loss->inputs[0]).type.shape[1]);
  const double others = smoothing / classes, own = 1 - smoothing + others;
  return -own * portable_log(own) - (classes - 1) * others * portable_log(others);
}

Trial learn_by_heart(Examination& examination, double rate) {
  const Subject& subject = examination.subject();
  StartedModel started(subject, optim::Warmup{kWarmup, optim::Constant{rate}}, subject.compile.precision);
  Program& program = started.model.training();
  bind_inputs(program, examination.batch());
  std::vector<double> losses;
  for (std::int64_t i = 0; i < kSteps; ++i) {
    if (interrupted() || !program.run()) throw Error("interrupted", ErrorKind::interrupted);
    losses.push_back(program.output(nn::kLossResult).at(0));
    if (!std::isfinite(losses.back())) break;
  }
  Trial trial{.first = losses.front(), .last = losses.back(), .finite = std::isfinite(losses.back())};
  if (!trial.finite) return trial;
  trial.last = std::accumulate(losses.end() - kLast, losses.end(), 0.0) / kLast;
  trial.learned = (trial.first - trial.last) / std::max(1e-6, trial.first - least_loss(examination.first_step()));
  return trial;
}

std::string told(const Trial& trial) {
  if (!trial.finite) return fmt::format("the loss of one batch goes from {:.2f} out of range", trial.first);
  return fmt::format("the loss of one batch goes from {:.2f} to {:.2f} in {} steps", trial.first, trial.last, kSteps);
}

}  // namespace

void check_rate(Examination& examination, Findings& findings) {
  const double rate = examination.subject().rate;
  if (!(rate > 0)) {
    findings.wrong(fmt::format("the learning rate is {}", rate), "--lr above 0");
    return;
  }
  const Trial trial = learn_by_heart(examination, rate);
  if (trial.learned >= kLearned) {
    findings.note(told(trial));
    return;
  }
  for (const double factor : kOtherRates) {
    const Trial other = learn_by_heart(examination, factor * rate);
    if (other.learned < kLearned || other.learned < trial.learned + kLearned / 2) continue;
    findings.wrong(fmt::format("the learning rate {:.3g} is too {}: {}; at {:.3g}, {}", rate,
                               factor < 1 ? "high" : "low", told(trial), factor * rate, told(other)),
                   fmt::format("--lr={:.3g}", factor * rate));
    return;
  }
  findings.wrong(
      "one batch cannot be learned by heart at any rate from a thousandth to a hundred times the given one: " +
          told(trial),
      "look at the graph: labels that do not belong to the images, a loss of something else, too much "
      "dropout or weight decay");
}

}  // namespace ridgeline::train
