// Overfits one batch, which a sound set-up can do within some dozen steps, whatever its data.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ridgeline/core/error.h"
#include "ridgeline/core/math.h"
#include "ridgeline/train/doctor/checks.h"
#include "ridgeline/train/loop/interrupt.h"

namespace ridgeline::train {
namespace {

constexpr std::int64_t kSteps = 60, kWarmup = 12;
constexpr std::size_t kLast = 5;  // losses whose mean is the last one
// The share of the way from the loss of guessing down to that of smoothed labels.
constexpr double kLearned = 0.4;
// Tried where the rate of the set-up fails, the likeliest mistake first.
constexpr double kOtherRates[] = {0.1, 0.01, 0.001, 10, 100};

struct Trial {
  double first = 0, last = 0;
  bool finite = true;
  double learned = 0;  // share of the way
};

// From where to where the loss must fall: from the first loss, or that of guessing where it is lower (large initial
// logits vanish in a few steps without learning), down to the entropy of the smoothed label.
struct Way {
  double from = 0, to = 0;
};

Way way_of(const FirstStep& first, double first_loss) {
  if (first.loss == nullptr) return {first_loss, 0};
  const auto classes = static_cast<double>(first.step.graph.value(first.loss->inputs[0]).type.shape[1]);
  const double from = std::min(first_loss, portable_log(classes));
  const Attributes& attributes = first.loss->attributes;
  const double smoothing = attributes.has("label_smoothing") ? attributes.real("label_smoothing") : 0;
  if (smoothing == 0) return {from, 0};
  const double others = smoothing / classes, own = 1 - smoothing + others;
  return {from, -own * portable_log(own) - (classes - 1) * others * portable_log(others)};
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
  const Way way = way_of(examination.first_step(), trial.first);
  trial.learned = (way.from - trial.last) / std::max(1e-6, way.from - way.to);
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
