#include "ridgeline/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ridgeline/core/error.h"
#include "ridgeline/core/math.h"

namespace ridgeline::optim {
namespace {

void check_rate(double base) {
  if (!std::isfinite(base) || base < 0) {
    throw Error("learning rate is " + std::to_string(base) + "; it must be finite and not negative", ErrorKind::usage);
  }
}

void check_law(const Constant& law) { check_rate(law.base); }

void check_law(const StepDecay& law) {
  check_rate(law.base);
  if (!std::isfinite(law.factor) || law.factor < 0) {
    throw Error("factor of the step decay is " + std::to_string(law.factor) + "; it must be finite and not negative",
                ErrorKind::usage);
  }
  std::int64_t last = -1;
  for (std::int64_t boundary : law.boundaries) {
    if (boundary <= last) throw Error("boundaries of the step decay must be steps in rising order", ErrorKind::usage);
    last = boundary;
  }
}

void check_law(const WarmupCosine& law) {
  check_rate(law.base);
  if (law.steps_per_epoch < 1) {
    throw Error("an epoch has " + std::to_string(law.steps_per_epoch) + " steps; it needs at least one",
                ErrorKind::usage);
  }
  if (law.epochs < 1)
    throw Error("max_epochs is " + std::to_string(law.epochs) + "; it must be at least 1", ErrorKind::usage);
  if (law.warmup_epochs < 0) {
    throw Error("warmup_epochs is " + std::to_string(law.warmup_epochs) + "; it must not be negative",
                ErrorKind::usage);
  }
}

double rate(const Constant& law, std::int64_t) { return law.base; }

double rate(const StepDecay& law, std::int64_t step) {
  double value = law.base;
  for (std::int64_t boundary : law.boundaries) {
    if (step >= boundary) value *= law.factor;
  }
  return value;
}

double rate(const WarmupCosine& law, std::int64_t step) {
  const std::int64_t last = law.epochs * law.steps_per_epoch - 1;
  const std::int64_t warmup = law.warmup_epochs * law.steps_per_epoch;
  const double i = static_cast<double>(std::min(step, last));
  if (i < static_cast<double>(warmup)) return law.base * (i + 1.0) / static_cast<double>(warmup);
  const double epoch = std::floor(i / static_cast<double>(law.steps_per_epoch));
  return law.base * (1.0 + portable_cos(std::numbers::pi * epoch / static_cast<double>(law.epochs))) / 2.0;
}

// The graph's side. `index` is the step as f64.
struct Scalar {
  GraphBuilder& builder;
  Location where;

  Value number(double value) const { return builder.constant(value, DType::f64, where); }
  Value op(std::string_view name, std::initializer_list<Value> operands) const {
    return builder.apply_at(where, name, operands);
  }
};

Value rate(const Constant& law, Value, const Scalar& scalar) { return scalar.number(law.base); }

Value rate(const StepDecay& law, Value index, const Scalar& scalar) {
  double value = law.base;
  Value result = scalar.number(value);
  for (std::int64_t boundary : law.boundaries) {
    value *= law.factor;
    const Value before = scalar.op("less", {index, scalar.number(static_cast<double>(boundary))});
    result = scalar.op("select", {before, result, scalar.number(value)});
  }
  return result;
}

Value rate(const WarmupCosine& law, Value index, const Scalar& scalar) {
  const std::int64_t last = law.epochs * law.steps_per_epoch - 1;
  const std::int64_t warmup = law.warmup_epochs * law.steps_per_epoch;
  const Value i = scalar.op("minimum", {index, scalar.number(static_cast<double>(last))});
  const Value base = scalar.number(law.base);
  const Value epoch =
      scalar.op("floor", {scalar.op("div", {i, scalar.number(static_cast<double>(law.steps_per_epoch))})});
  const Value angle = scalar.op("div", {scalar.op("mul", {scalar.number(std::numbers::pi), epoch}),
                                        scalar.number(static_cast<double>(law.epochs))});
  const Value raised = scalar.op("add", {scalar.number(1.0), scalar.op("cos", {angle})});
  const Value cosine = scalar.op("div", {scalar.op("mul", {base, raised}), scalar.number(2.0)});
  if (warmup == 0) return cosine;
  const Value width = scalar.number(static_cast<double>(warmup));
  const Value rising = scalar.op("div", {scalar.op("mul", {base, scalar.op("add", {i, scalar.number(1.0)})}), width});
  return scalar.op("select", {scalar.op("less", {i, width}), rising, cosine});
}

}  // namespace

void check(const Schedule& schedule) {
  std::visit([](const auto& law) { check_law(law); }, schedule);
}

double learning_rate(const Schedule& schedule, std::int64_t step) {
  return std::visit([&](const auto& law) { return rate(law, step); }, schedule);
}

Value learning_rate(const Schedule& schedule, Value global_step, const std::source_location& at) {
  check(schedule);
  const Scalar scalar{global_step.builder(), Location::of(at)};
  const GraphBuilder::Scope scope(scalar.builder, "learning_rate");
  const Value index = scalar.builder.apply_at(scalar.where, "cast", {global_step}, {{"to", DType::f64}});
  return std::visit([&](const auto& law) { return rate(law, index, scalar); }, schedule);
}

}  // namespace ridgeline::optim
