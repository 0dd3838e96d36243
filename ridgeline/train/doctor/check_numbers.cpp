// Numbers of the first step: vanishing gradients, the ranges of 16-bit types, the first loss.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ridgeline/core/math.h"
#include "ridgeline/train/doctor/checks.h"

namespace ridgeline::train {
namespace {

// Between the layers with the largest and the smallest gradient, relative to their weights.
constexpr double kVanishing = 1e-6;
// The change of weights in one step at the full rate, relative to their size: more than this overwrites them.
constexpr double kLongStep = 0.5;
// Relative to the loss of guessing: too large initial weights begin far above, a leak of labels far below.
constexpr double kFarAbove = 1.5, kFarBelow = 0.5;
// The share of gradients that become 0 in f16 but not in f32.
constexpr double kUnderflow = 0.3;

// "conv1/conv2d (conv2d, models/alexnet.cpp:57)"
std::string origin(StepValues& values, std::size_t index) {
  const StepValue& value = values.values()[index];
  return value.op.empty()
             ? value.name
             : fmt::format("{} ({}{})", value.name, value.op, value.where.empty() ? "" : ", " + value.where);
}

double zeros(const Tensor& tensor) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) count += tensor.at(i) == 0;
  return static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(1, tensor.elements()));
}

}  // namespace

void check_gradients(Examination& examination, Findings& findings) {
  FirstStep& first = examination.first_step();
  if (const std::size_t bad = first_not_finite(first.values); bad < first.values.values().size()) {
    findings.wrong("the first value of the step that is not finite is made by " + origin(first.values, bad),
                   "look at what this op reads: a root or logarithm of 0, a division by 0, too large weights");
    return;
  }
  const ParameterRow* most = nullptr;
  const ParameterRow* least = nullptr;
  std::vector<ParameterRow>& rows = findings.parameters();
  std::string none;
  std::size_t without = 0;
  for (std::size_t i = 0; i < first.trained.size(); ++i) {
    const nn::ParameterSpec& spec = first.trained[i].spec;
    const double weight =
        numbers_of(first.values.tensor_of(first.step.graph.find_argument(spec.name))).root_mean_square;
    const double gradient =
        first.gradients[i] == kNoValue ? 0 : numbers_of(first.values.tensor_of(first.gradients[i])).root_mean_square;
    const double rate = examination.subject().rate * first.trained[i].rate_factor;
    rows.push_back({spec.name, weight, gradient, weight > 0 ? rate * gradient / weight : 0});
    if (gradient > 0) continue;
    if (without++ == 0) none = spec.name;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (first.trained[i].spec.shape.rank() < 2 || rows[i].gradient == 0 || rows[i].weight == 0) continue;
    if (!most || rows[i].step > most->step) most = &rows[i];
    if (!least || rows[i].step < least->step) least = &rows[i];
  }
  if (without > 0) {
    findings.wrong(fmt::format("{} of {} parameters get no gradient, the first is {}", without, rows.size(), none),
                   "look at how they reach the loss: a layer behind them may be dead, constant or left out");
  }
  if (!most) return;
  if (least->step < kVanishing * most->step) {
    findings.suspect(fmt::format("gradients vanish: a step changes {} by {:.1g} of its size and {} by {:.1g}",
                                 least->name, least->step, most->name, most->step),
                     "a norm or a shortcut between them, other initial weights");
  }
  if (most->step > kLongStep) {
    findings.suspect(fmt::format("one step at the full rate changes {} by {:.2g} of its size", most->name, most->step),
                     "a lower --lr, a longer warm-up, or --clip_norm");
  }
}

void check_precision(Examination& examination, Findings& findings) {
  const Subject& subject = examination.subject();
  const PrecisionPolicy& policy = subject.compile.precision;
  if (policy.rewrite == PrecisionRewrite::none && policy.overrides.empty())
    return findings.leave_out("the step computes in f32");
  FirstStep& full = examination.first_step();
  if (first_not_finite(full.values) < full.values.values().size())
    return findings.leave_out("values are not finite in f32 either");
  FirstStep reduced(subject, policy, examination.batch());
  const std::string low(name_of(policy.low));
  // A dynamic scale finds its size by such steps, which are skipped.
  const bool skips = subject.training.gradients.loss_scale && subject.training.gradients.loss_scale->skip_overflow;
  const std::size_t bad = first_not_finite(reduced.values);
  if (bad < reduced.values.values().size()) {
    const std::string what = fmt::format(
        "{} overflows: {} is the first value that is not finite, its largest in f32 is {:.3g}", low,
        origin(reduced.values, bad), numbers_of(full.values.tensor_of(reduced.values.values()[bad].id)).largest);
    if (skips && reduced.values.values()[bad].kind == ValueKind::grad) {
      findings.note(what + "; the loss scale will shrink until none does");
    } else {
      findings.wrong(what, "a bf16 mode, this op in --keep_dtype, a smaller --loss_scale, or smaller values there");
    }
    return;
  }
  double full_zeros = 0, reduced_zeros = 0, parts = 0;
  for (std::size_t i = 0; i < full.gradients.size(); ++i) {
    if (full.gradients[i] == kNoValue || full.trained[i].spec.shape.rank() < 2) continue;
    full_zeros += zeros(full.values.tensor_of(full.gradients[i]));
    reduced_zeros += zeros(reduced.values.tensor_of(reduced.gradients[i]));
    ++parts;
  }
  if (parts > 0 && reduced_zeros - full_zeros > kUnderflow * parts) {
    findings.suspect(fmt::format("{:.0f} % of all gradients are 0 in {} and not in f32",
                                 100 * (reduced_zeros - full_zeros) / parts, low),
                     "--loss_scale=dynamic, or a bf16 mode");
  }
}

void check_loss(Examination& examination, Findings& findings) {
  FirstStep& first = examination.first_step();
  if (first.loss == nullptr) return findings.leave_out("the loss is not made of logits and labels");
  const Tensor logits = first.values.tensor_of(first.loss->inputs[0]);
  const double guess = portable_log(static_cast<double>(logits.shape()[1]));
  const double loss = first.values.tensor_of(first.step.graph.find_return(nn::kLossResult)).at(0);
  const bool restored = !first.started.restored.empty();
  if (loss > kFarAbove * guess + 1) {
    findings.suspect(
        fmt::format("the first loss is {:.2f}, guessing among {} classes would give {:.2f}: the logits begin "
                    "too large (deviation {:.2g})",
                    loss, logits.shape()[1], guess, numbers_of(logits).deviation),
        "smaller initial weights of the last layer, normalised images");
  } else if (loss < kFarBelow * guess && !restored) {
    findings.suspect(fmt::format("the first loss is {:.2f} with random weights, guessing among {} classes would give "
                                 "{:.2f}",
                                 loss, logits.shape()[1], guess),
                     "look for labels that the network can see, or that are all the same");
  } else {
    findings.note(fmt::format("the first loss is {:.3f}, guessing among {} classes gives {:.3f}", loss,
                              logits.shape()[1], guess));
  }
}

}  // namespace ridgeline::train
