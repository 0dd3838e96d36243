#include "ridgeline/optim/adam.h"

#include "ridgeline/core/math.h"
#include "ridgeline/optim/trust_ratio.h"

namespace ridgeline::optim {
namespace {

void check_means(double beta1, double beta2, double epsilon) {
  check_share(beta1, "beta1");
  check_share(beta2, "beta2");
  check_not_negative(epsilon, "epsilon");
}

// 1 - beta^t in f64, t the number of the step from 1 on. With beta 0 the power is 0 from the first step on.
Value correction(const StepValues& step, double beta) {
  GraphBuilder& builder = step.index.builder();
  const Value t = builder.apply_at(step.where, "cast", {step.index}, {{"to", DType::f64}}) + 1.0;
  if (beta == 0) return builder.constant(1.0, DType::f64, step.where);
  return 1.0 - builder.apply_at(step.where, "exp", {t * portable_log(beta)});
}

Value to_f32(const StepValues& step, Value value) {
  return step.index.builder().apply_at(step.where, "cast", {value}, {{"to", DType::f32}});
}

// lr, lr / (1 - beta1^t), sqrt(1 - beta2^t): the scalars of the op adam.
std::vector<Value> corrections(const StepValues& step, Value size, double beta1, double beta2) {
  GraphBuilder& builder = step.index.builder();
  const GraphBuilder::Scope scope(builder, "adam");
  const Value wide = builder.apply_at(step.where, "cast", {size}, {{"to", DType::f64}});
  return {step.rate, to_f32(step, wide / correction(step, beta1)),
          to_f32(step, builder.apply_at(step.where, "sqrt", {correction(step, beta2)}))};
}

}  // namespace

void Adam::check() const { check_means(beta1, beta2, epsilon); }

std::vector<Value> Adam::scalars(const StepValues& step) const { return corrections(step, step.rate, beta1, beta2); }

std::vector<Value> Adam::next(const ParameterUpdate& update) const {
  return apply_update(update, "adam",
                      {{"beta1", beta1},
                       {"beta2", beta2},
                       {"epsilon", epsilon},
                       {"decoupled", decoupled},
                       {"weight_decay", update.weight_decay}});
}

void Lamb::check() const { check_means(beta1, beta2, epsilon); }

std::vector<Value> Lamb::scalars(const StepValues& step) const {
  return corrections(step, step.index.builder().constant(1.0, DType::f32, step.where), beta1, beta2);
}

std::vector<Value> Lamb::next(const ParameterUpdate& update) const {
  GraphBuilder& builder = update.parameter.builder();
  const Value w = update.parameter, m = update.slots[0], v = update.slots[1], g = update.gradient;
  const Value rate = update.scalars[0], size = update.scalars[1], root = update.scalars[2];
  const Value mean = m * beta1 + g * (1 - beta1);
  const Value square = v * beta2 + g * g * (1 - beta2);
  Value direction = size * mean / (builder.apply_at(update.where, "sqrt", {square}) / root + epsilon);
  if (update.weight_decay != 0) direction = direction + w * update.weight_decay;
  const Value step = update.decays ? rate * trust_ratio(w, direction, update.where) : rate;
  return {w - step * direction, mean, square};
}

}  // namespace ridgeline::optim
