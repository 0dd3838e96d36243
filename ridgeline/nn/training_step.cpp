#include "ridgeline/nn/training_step.h"

#include <algorithm>
#include <map>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/grad/differentiate.h"
#include "ridgeline/nn/functional.h"

namespace ridgeline::nn {
namespace {

StepOptions completed(const StepOptions& given) {
  RIDGELINE_CHECK(given.model != nullptr, "a step needs a model");
  StepOptions options = given;
  if (options.image_size == 0) options.image_size = options.model->image_size;
  check_image_size(*options.model, options.image_size);
  if (options.batch_size < 1) {
    throw Error("batch_size is " + std::to_string(options.batch_size) + "; it must be at least 1", ErrorKind::usage);
  }
  options.model_options = complete_options(*options.model, options.model_options);
  return options;
}

// Declares the images as they arrive and returns them normalised. Only training flips.
Value declare_images(GraphBuilder& builder, const StepOptions& options, bool training) {
  const Shape shape = {options.batch_size, options.image_size, options.image_size, 3};
  if (options.images == ImageForm::f32) return builder.input(kImagesInput, {DType::f32, shape});
  std::vector<Value> operands = {builder.input(kImagesInput, {DType::u8, shape})};
  if (training) operands.push_back(builder.input(kFlipInput, {DType::u8, {options.batch_size}}));
  const auto reals = [](const std::array<double, 3>& values) {
    return std::vector<double>(values.begin(), values.end());
  };
  return builder
      .apply_all("image_tail", operands, {{"mean", reals(options.model->mean)}, {"std", reals(options.model->std)}},
                 Location::of(At::current()))
      .front();
}

Value declare_labels(GraphBuilder& builder, const StepOptions& options) {
  return builder.input(kLabelsInput, {DType::i32, {options.batch_size}});
}

Value build_model(GraphBuilder& builder, const StepOptions& options, bool training, Value images, Value step,
                  std::vector<ParameterSpec>& parameters) {
  ModelContext context{.builder = builder,
                       .training = training,
                       .images = images,
                       .step = step,
                       .seed = options.seed,
                       .parameters = parameters};
  return options.model->build(context, options.model_options);
}

Value argument(GraphBuilder& builder, const std::string& name) {
  return builder.value(builder.graph().find_argument(name));
}

// The sum over all parameters of weight_decay * sum(v^2) / 2, or undefined when there is nothing to add.
Value l2_penalty(GraphBuilder& builder, const std::vector<TrainedParameter>& trained) {
  std::map<double, std::vector<Value>> by_factor;
  for (const TrainedParameter& p : trained) {
    if (p.weight_decay != 0) by_factor[p.weight_decay].push_back(argument(builder, p.spec.name));
  }
  Value penalty;
  for (const auto& [factor, decayed] : by_factor) {
    const Value part =
        builder.apply_all("l2_penalty", decayed, {{"factor", factor}}, Location::of(At::current())).front();
    penalty = penalty.defined() ? penalty + part : part;
  }
  return penalty;
}

std::vector<ParameterSpec> declare_slots(GraphBuilder& builder, const std::vector<TrainedParameter>& trained,
                                         const optim::Optimizer& optimizer) {
  std::vector<ParameterSpec> slots;
  for (const TrainedParameter& p : trained) {
    for (const std::string& slot : optimizer.slots()) {
      slots.push_back(
          {optim::slot_name(p.spec.name, slot), p.spec.shape, zeros(), ParameterRole::slot, p.spec.dtype, false});
      builder.state(slots.back().name, {p.spec.dtype, p.spec.shape});
    }
  }
  return slots;
}

// The updates come last: nothing may read a parameter behind its update.
void add_updates(GraphBuilder& builder, const std::vector<TrainedParameter>& trained,
                 const std::vector<ValueId>& gradients, const optim::StepValues& step,
                 const TrainingOptions& training) {
  const bool in_update = training.decay == DecayPlace::in_update || !training.optimizer.coupled();
  std::map<double, std::vector<Value>> scalars;  // by the factor of the rate
  for (std::size_t i = 0; i < trained.size(); ++i) {
    const TrainedParameter& p = trained[i];
    RIDGELINE_CHECK(gradients[i] != kNoValue, "no gradient for " + p.spec.name);
    std::vector<Value>& own = scalars[p.rate_factor];
    if (own.empty()) {
      optim::StepValues scaled = step;
      if (p.rate_factor != 1) scaled.rate = scaled.rate * p.rate_factor;
      own = training.optimizer.scalars(scaled);
    }
    optim::ParameterUpdate update{.parameter = argument(builder, p.spec.name),
                                  .slots = {},
                                  .gradient = builder.value(gradients[i]),
                                  .scalars = own,
                                  .weight_decay = in_update ? p.weight_decay : 0,
                                  .decays = p.spec.decay,
                                  .where = step.where};
    for (const std::string& slot : training.optimizer.slots()) {
      update.slots.push_back(argument(builder, optim::slot_name(p.spec.name, slot)));
    }
    training.optimizer.update(update);
  }
}

}  // namespace

Step build_training_step(const StepOptions& given, const TrainingOptions& training) {
  const StepOptions options = completed(given);
  Step result;
  std::vector<ParameterSpec>& parameters = result.parameters;

  GraphBuilder forward("train_step");
  const Value images = declare_images(forward, options, true);
  const Value labels = declare_labels(forward, options);
  const ParameterSpec counter{kGlobalStep, {}, zeros(), ParameterRole::counter, DType::i64, false};
  const Value step = forward.state(kGlobalStep, {DType::i64, {}});
  const Value logits = build_model(forward, options, true, images, step, parameters);
  const Value loss = mean(softmax_cross_entropy(logits, labels, {}, options.label_smoothing).loss);
  const std::vector<TrainedParameter> trained =
      trained_parameters(parameters, training.weight_decay, training.decay_vectors, training.groups);
  // What is no gradient of the loss is no part of it either.
  const Value penalty = training.optimizer.coupled() ? l2_penalty(forward, trained) : Value();
  const Value total_loss = penalty.defined() ? loss + penalty : loss;

  std::vector<ValueId> with_respect_to;
  for (const TrainedParameter& p : trained) with_respect_to.push_back(forward.graph().find_argument(p.spec.name));
  const ValueId loss_id = loss.id();
  const ValueId total_id = total_loss.id();
  const ValueId step_id = step.id();
  Graph graph = forward.finish();
  const std::vector<ValueId> gradients =
      differentiate(graph, training.decay == DecayPlace::in_gradient ? total_id : loss_id, with_respect_to);

  GraphBuilder builder(std::move(graph));
  const std::vector<ParameterSpec> slots = declare_slots(builder, trained, training.optimizer);
  const Value global_step = builder.value(step_id);
  const Value rate = cast(optim::learning_rate(training.schedule, global_step), DType::f32);
  add_updates(builder, trained, gradients, {rate, global_step, Location::of(At::current())}, training);
  builder.name_next("next_step");
  builder.update(global_step, builder.apply("add", {global_step, builder.constant(1, DType::i64)}));
  builder.returns("loss", builder.value(loss_id));
  builder.returns("total_loss", builder.value(total_id));
  builder.returns("learning_rate", rate);

  parameters.insert(parameters.end(), slots.begin(), slots.end());
  parameters.push_back(counter);
  result.graph = builder.finish();
  return result;
}

Step build_evaluation_step(const StepOptions& given) {
  const StepOptions options = completed(given);
  Step result;
  GraphBuilder builder("evaluation_step");
  const Value images = declare_images(builder, options, false);
  const Value labels = declare_labels(builder, options);
  const Value mask = builder.input(kMaskInput, {DType::f32, {options.batch_size}});
  const Value logits = build_model(builder, options, false, images, {}, result.parameters);
  const CrossEntropyResult entropy = softmax_cross_entropy(logits, labels, mask, options.label_smoothing);
  const std::int64_t k = std::min<std::int64_t>(5, options.model_options.num_classes);
  builder.returns("loss_sum", sum(entropy.loss));
  builder.returns("top_1", builder.apply("argmax_accuracy", {logits, labels, mask}));
  builder.returns("top_5", builder.apply("top_k_accuracy", {logits, labels, mask}, {{"k", k}}));
  builder.returns("rows", sum(mask));
  result.graph = builder.finish();
  return result;
}

Step build_prediction_step(const StepOptions& given) {
  const StepOptions options = completed(given);
  Step result;
  GraphBuilder builder("prediction_step");
  const Value images = declare_images(builder, options, false);
  const Value logits = build_model(builder, options, false, images, {}, result.parameters);
  builder.returns(infer::kProbabilities, softmax(logits));
  builder.returns(infer::kLogits, logits);
  result.graph = builder.finish();
  return result;
}

}  // namespace ridgeline::nn
