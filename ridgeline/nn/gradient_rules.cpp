#include "ridgeline/nn/gradient_rules.h"

#include <array>
#include <cmath>
#include <limits>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/op/expand_loop.h"
#include "ridgeline/graph/pass/accumulation.h"
#include "ridgeline/nn/functional.h"

namespace ridgeline::nn {
namespace {

constexpr std::array<const char*, 4> kScaleStates = {kLossScale, "loss_scale/clean_steps", "loss_scale/overflows",
                                                     kOverflowsInARow};
constexpr const char* kAccumulatedLoss = "loss/accumulated";
constexpr double kLargest = std::numeric_limits<float>::max();

Value declare(GraphBuilder& builder, std::vector<ParameterSpec>& states, const std::string& name, const Shape& shape,
              double initial, ParameterRole role) {
  states.push_back({name, shape, constant(initial), role, DType::f32, false});
  return builder.state(name, {DType::f32, shape});
}

Value at_most(GraphBuilder& builder, Value x, double most) {
  return builder.apply("less_equal", {x, builder.constant(most)});
}

}  // namespace

void GradientRules::check() const {
  const auto not_negative = [](double value, const char* name) {
    if (std::isfinite(value) && value >= 0) return;
    throw Error(std::string(name) + " is " + std::to_string(value) + "; it must be finite and not negative",
                ErrorKind::usage);
  };
  not_negative(clip_value, "clip_value");
  not_negative(clip_norm, "clip_norm");
  if (accumulate < 1)
    throw Error("accumulate is " + std::to_string(accumulate) + "; 1 or more is meant", ErrorKind::usage);
  if (loss_scale) loss_scale->check();
}

GradientProcess::GradientProcess(GraphBuilder& builder, const GradientRules& rules, std::vector<ParameterSpec>& states)
    : rules_(rules) {
  rules.check();
  if (rules.loss_scale) {
    for (const char* name : kScaleStates) {
      const bool scale = name == kLossScale;
      const Value state =
          declare(builder, states, name, {}, scale ? rules.loss_scale->initial : 0, ParameterRole::counter);
      if (scale) scale_ = state;
    }
  }
  if (rules.accumulate > 1) {
    micro_step_ = declare(builder, states, kMicroStep, {}, 0, ParameterRole::counter);
    declare(builder, states, kAccumulatedLoss, {}, 0, ParameterRole::counter);
  }
}

Value GradientProcess::scaled(Value loss) const {
  if (!scale_.defined()) return loss;
  const GraphBuilder::Scope scope(loss.builder(), kExactScope);
  return loss * scale_;
}

Value GradientProcess::dropout_step(Value global_step) const {
  if (!micro_step_.defined()) return global_step;
  GraphBuilder& builder = global_step.builder();
  const Value runs = builder.constant(static_cast<double>(rules_.accumulate), DType::i64);
  return builder.apply("add", {builder.apply("mul", {global_step, runs}), cast(micro_step_, DType::i64)});
}

Value GradientProcess::argument(GraphBuilder& builder, const std::string& name) const {
  return builder.value(builder.graph().find_argument(name));
}

Value GradientProcess::accumulated(GraphBuilder& builder, const std::string& name, Value current, Value last) {
  return accumulate(builder, argument(builder, name), current, last);
}

Value GradientProcess::mean_loss(GraphBuilder& builder, Value loss) {
  if (rules_.accumulate == 1) return loss;
  const GraphBuilder::Scope scope(builder, kExactScope);
  const Value sum = accumulated(builder, kAccumulatedLoss, loss, last_);
  return sum / (argument(builder, kMicroStep) + 1.0);
}

std::vector<Value> GradientProcess::process(GraphBuilder& builder, const std::vector<TrainedParameter>& trained,
                                            const std::vector<Value>& given, std::vector<ParameterSpec>& states) {
  const GraphBuilder::Scope scope(builder, kExactScope);
  const Location where = Location::of(At::current());
  std::vector<Value> gradients = given;
  if (rules_.accumulate > 1) {
    const Value micro = argument(builder, kMicroStep);
    last_ = builder.apply("equal", {micro, builder.constant(static_cast<double>(rules_.accumulate - 1))});
    builder.update(micro, builder.apply("select", {last_, builder.constant(0), micro + 1.0}));
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const std::string name = trained[i].spec.name + "/accumulated";
      declare(builder, states, name, trained[i].spec.shape, 0, ParameterRole::slot);
      gradients[i] = accumulated(builder, name, gradients[i], last_);
    }
    apply_ = last_;
  }
  // One factor for the mean and for what the loss was multiplied by.
  Value factor;
  if (rules_.loss_scale) {
    factor = builder.constant(1.0 / static_cast<double>(rules_.accumulate)) / argument(builder, kLossScale);
  } else if (rules_.accumulate > 1) {
    factor = builder.constant(1.0 / static_cast<double>(rules_.accumulate));
  }
  if (factor.defined()) {
    for (Value& gradient : gradients) gradient = gradient * factor;
  }
  const auto squares = [&] { return builder.apply_all("l2_penalty", gradients, {{"factor", 2.0}}, where).front(); };
  if (rules_.loss_scale) {
    const Value finite = at_most(builder, squares(), kLargest);
    if (rules_.loss_scale->skip_overflow) {
      apply_ = last_.defined() ? builder.apply("select", {last_, finite, builder.constant(0, DType::boolean)}) : finite;
    }
    std::vector<Value> operands;
    for (const char* name : kScaleStates) operands.push_back(argument(builder, name));
    operands.push_back(1.0 - cast(finite, DType::f32));
    const std::vector<Value> next = expand_loop(rules_.loss_scale->rule(), operands, where);
    for (std::size_t i = 0; i < next.size(); ++i) {
      // In the middle of a step nothing is updated.
      const Value kept = last_.defined() ? builder.apply("select", {last_, next[i], operands[i]}) : next[i];
      builder.update(operands[i], kept);
      if (i + 1 == next.size()) builder.returns(kOverflowsResult, kept);
    }
    builder.returns(kScaleResult, operands[0]);
  }
  if (rules_.clip_value > 0) {
    const Value most = builder.constant(rules_.clip_value), least = builder.constant(-rules_.clip_value);
    for (Value& gradient : gradients) {
      gradient = builder.apply("maximum", {least, builder.apply("minimum", {most, gradient})});
    }
  }
  if (rules_.clip_norm > 0) {
    const Value norm = builder.apply("sqrt", {squares()});
    const Value limit = builder.constant(rules_.clip_norm);
    const Value ratio = limit / builder.apply("maximum", {norm, limit});
    for (Value& gradient : gradients) gradient = gradient * ratio;
    builder.returns(kNormResult, norm);
  }
  return gradients;
}

}  // namespace ridgeline::nn
