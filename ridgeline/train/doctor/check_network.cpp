// The network itself: what is not trained, what goes into the loss, units that are dead.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "ridgeline/train/doctor/checks.h"

namespace ridgeline::train {
namespace {

constexpr std::size_t kNamed = 3;  // names in a sentence
// Deep layers without normalisation get similar inputs for every image: half of their units may be 0 at the start.
constexpr double kDeadShare = 0.9;
constexpr std::int64_t kFewestChannels = 4;

std::string some(const std::vector<std::string>& names) {
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + static_cast<std::ptrdiff_t>(std::min(kNamed, names.size())));
  return fmt::format("{}{}", fmt::join(first, ", "),
                     names.size() > kNamed ? fmt::format(" and {} more", names.size() - kNamed) : "");
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Channels (the last extent) that are 0 in every row.
std::int64_t zero_channels(const Tensor& tensor) {
  const std::int64_t channels = tensor.shape()[tensor.shape().rank() - 1];
  std::vector<bool> alive(static_cast<std::size_t>(channels), false);
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    if (tensor.at(i) != 0) alive[static_cast<std::size_t>(i % channels)] = true;
  return std::count(alive.begin(), alive.end(), false);
}

}  // namespace

void check_frozen(Examination& examination, Findings& findings) {
  FirstStep& first = examination.first_step();
  std::vector<std::string> frozen, drawn;
  std::string head;  // the last parameter that is no vector
  for (const nn::ParameterSpec& spec : first.step.parameters) {
    if (!spec.trainable()) continue;
    if (spec.shape.rank() > 1) head = spec.name;
    const auto trained = std::find_if(first.trained.begin(), first.trained.end(),
                                      [&](const nn::TrainedParameter& p) { return p.spec.name == spec.name; });
    if (trained != first.trained.end() && trained->rate_factor != 0) continue;
    frozen.push_back(spec.name);
    if (!holds(first.started.restored, spec.name)) drawn.push_back(spec.name);
  }
  if (frozen.empty()) return;
  if (holds(frozen, head)) {
    findings.wrong(fmt::format("the last layer is frozen ({}): nothing can learn the classes", head),
                   "a narrower --freeze pattern, and no --lr_scale of 0 there");
  } else if (!drawn.empty()) {
    findings.wrong(fmt::format("{} parameters are frozen with the random values that they were drawn with: {}",
                               drawn.size(), some(drawn)),
                   "--restore_path with weights for them, or no --freeze");
  } else {
    findings.note(fmt::format("{} parameters are frozen as they were restored: {}", frozen.size(), some(frozen)));
  }
}

void check_head(Examination& examination, Findings& findings) {
  FirstStep& first = examination.first_step();
  if (first.loss == nullptr) return findings.leave_out("the loss is not made of logits and labels");
  const Tensor logits = first.values.tensor_of(first.loss->inputs[0]);
  const std::int64_t rows = logits.shape()[0], classes = logits.shape()[1];
  bool probabilities = classes > 1, equal = classes > 1;
  for (std::int64_t n = 0; n < rows; ++n) {
    double sum = 0;
    for (std::int64_t k = 0; k < classes; ++k) {
      const double value = logits.at(n * classes + k);
      sum += value;
      if (!(value >= 0 && value <= 1)) probabilities = false;
      if (value != logits.at(n * classes)) equal = false;
    }
    if (std::abs(sum - 1) > 1e-3) probabilities = false;
  }
  if (probabilities) {
    findings.wrong("the loss takes the softmax of what is a softmax already: each row of its logits sums to 1",
                   "return logits: the last dense layer without an activation");
  } else if (equal) {
    findings.wrong("all logits of an image are equal, so every class is as probable as the others",
                   "look at the last layers: a relu on the logits may be dead (--final_relu=False), weights may be 0");
  }
}

void check_units(Examination& examination, Findings& findings) {
  FirstStep& first = examination.first_step();
  StepValues& values = first.values;
  for (std::size_t i = 0; i < values.values().size(); ++i) {
    const StepValue& value = values.values()[i];
    const ValueType& type = first.step.graph.value(value.id).type;
    if (value.op.empty() || value.kind != ValueKind::activation || type.dtype != DType::f32) continue;
    if (type.shape.rank() != 2 && type.shape.rank() != 4) continue;
    const std::int64_t channels = type.shape[type.shape.rank() - 1];
    if (channels < kFewestChannels || type.shape.elements() == channels) continue;
    const std::int64_t zero = zero_channels(values.tensor(i));
    if (static_cast<double>(zero) < kDeadShare * static_cast<double>(channels)) continue;
    findings.wrong(fmt::format("{} of {} channels of {} ({}{}) are 0 for every image: they pass no gradient on", zero,
                               channels, value.name, value.op, value.where.empty() ? "" : ", " + value.where),
                   "smaller or other initial weights and biases in front of it, a lower rate, a norm between them");
    return;  // what comes behind follows from it
  }
}

}  // namespace ridgeline::train
