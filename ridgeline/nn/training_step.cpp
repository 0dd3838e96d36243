#include "ridgeline/nn/training_step.h"

#include <algorithm>
#include <limits>
#include <map>

#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"
#include "ridgeline/graph/grad/differentiate.h"
#include "ridgeline/nn/functional.h"

namespace ridgeline::nn {
namespace {

StepOptions completed(const StepOptions& given) {
  if (given.model == nullptr)
    throw Error("StepOptions::model is not set: model_named() finds one by its name", ErrorKind::usage);
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

std::int64_t classes_of(const StepOptions& options) { return options.model_options.num_classes; }

Value logits_of(ModelContext& context, const StepOptions& options, Value images) {
  context.images = images;
  return options.model->build(context, options.model_options);
}

Value classifier_loss(ModelContext& context, const StepOptions& options) {
  GraphBuilder& builder = context.builder;
  const Value images = declare_images(builder, options, true);
  const Value labels = options.label_shares
                           ? builder.input(kLabelsInput, {DType::f32, {options.batch_size, classes_of(options)}})
                           : declare_labels(builder, options);
  if (options.row_mask)
    context.row_mask = cast(builder.input(kMaskInput, {DType::u8, {options.batch_size}}), DType::f32);
  const Value logits = logits_of(context, options, images);
  const double smoothing = options.smooth_shares ? 0 : options.label_smoothing;
  const Value losses = softmax_cross_entropy(logits, labels, context.row_mask, smoothing).loss;
  return mean_of_rows(context, losses);
}

void classifier_evaluation(ModelContext& context, const StepOptions& options) {
  GraphBuilder& builder = context.builder;
  const Value images = declare_images(builder, options, false);
  const Value labels = declare_labels(builder, options);
  const Value mask = builder.input(kMaskInput, {DType::f32, {options.batch_size}});
  const Value logits = logits_of(context, options, images);
  const CrossEntropyResult entropy = softmax_cross_entropy(logits, labels, mask, options.label_smoothing);
  const std::int64_t k = std::min<std::int64_t>(5, classes_of(options));
  builder.returns("loss_sum", sum(entropy.loss));
  builder.returns("top_1", builder.apply("argmax_accuracy", {logits, labels, mask}));
  builder.returns("top_5", builder.apply("top_k_accuracy", {logits, labels, mask}, {{"k", k}}));
  builder.returns(kRowsResult, sum(mask));
  builder.returns(infer::kLogits, logits);
}

void classifier_prediction(ModelContext& context, const StepOptions& options) {
  const Value images = declare_images(context.builder, options, false);
  const Value logits = logits_of(context, options, images);
  context.builder.returns(infer::kProbabilities, softmax(logits));
  context.builder.returns(infer::kLogits, logits);
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

// The updates come last: nothing may read a parameter after its update.
void add_updates(GraphBuilder& builder, const std::vector<TrainedParameter>& trained,
                 const std::vector<Value>& gradients, Value apply, const optim::StepValues& step,
                 const TrainingOptions& training) {
  std::map<double, std::vector<Value>> scalars;  // by the factor of the rate
  for (std::size_t i = 0; i < trained.size(); ++i) {
    const TrainedParameter& p = trained[i];
    std::vector<Value>& own = scalars[p.rate_factor];
    if (own.empty()) {
      optim::StepValues scaled = step;
      if (p.rate_factor != 1) scaled.rate = scaled.rate * p.rate_factor;
      own = training.optimizer.scalars(scaled);
    }
    optim::ParameterUpdate update{.parameter = argument(builder, p.spec.name),
                                  .slots = {},
                                  .gradient = gradients[i],
                                  .scalars = own,
                                  .weight_decay = p.weight_decay,
                                  .decays = p.spec.decay,
                                  .apply = apply,
                                  .where = step.where};
    for (const std::string& slot : training.optimizer.slots()) {
      update.slots.push_back(argument(builder, optim::slot_name(p.spec.name, slot)));
    }
    training.optimizer.update(update);
  }
}

// What replaces an argument when the step ends.
Value next_of(GraphBuilder& builder, ValueId argument) {
  for (const Update& update : builder.graph().updates) {
    if (update.current == argument) return builder.value(update.next);
  }
  return {};
}

Value where_applied(Value apply, Value next, Value current) {
  return apply.defined() ? next.builder().apply("select", {apply, next, current}) : next;
}

void add_averages(GraphBuilder& builder, const std::vector<TrainedParameter>& trained, Value apply, double share,
                  Step& result) {
  const GraphBuilder::Scope scope(builder, kExactScope);
  for (const TrainedParameter& p : trained) {
    const std::string name = optim::slot_name(p.spec.name, kAverageSlot);
    result.averages.push_back({name, p.spec.name});
    result.parameters.push_back({name, p.spec.shape, zeros(), ParameterRole::slot, p.spec.dtype, false});
    const Value average = builder.state(name, {p.spec.dtype, p.spec.shape});
    const Value next = next_of(builder, builder.graph().find_argument(p.spec.name));
    builder.update(average, where_applied(apply, average * share + next * (1 - share), average));
  }
}

// A batch that overflowed leaves no trace in the statistics of batch norms. The loss does not always show it: a relu
// turns -infinity into 0. Ranks with common statistics decide together.
void keep_statistics(Graph& graph, ValueId loss, std::int64_t statistics_ranks) {
  const std::vector<Update> statistics = graph.updates;
  graph.updates.clear();
  GraphBuilder builder(std::move(graph));
  {
    const GraphBuilder::Scope scope(builder, kExactScope);
    const auto finite = [&](Value x) {
      return builder.apply("less_equal",
                           {builder.apply("abs", {x}), builder.constant(std::numeric_limits<float>::max())});
    };
    Value common = builder.value(loss);
    if (statistics_ranks > 1)
      common = builder.apply("all_reduce", {common}, {{"ranks", statistics_ranks}, {"reduction", std::string("mean")}});
    const Value counts = finite(common);
    for (const Update& update : statistics) {
      const Value current = builder.value(update.current);
      Value next = builder.value(update.next);
      if (is_floating(next.type().dtype)) next = builder.apply("select", {finite(next), next, current});
      builder.update(current, where_applied(counts, next, current));
    }
  }
  graph = builder.finish();
}

}  // namespace

// The sum over this rank's rows that count, divided by the mean number of such rows a rank: the mean of that over the
// ranks is the mean over all of these rows, however they are distributed.
Value mean_of_rows(const ModelContext& context, Value losses) {
  if (!context.row_mask.defined()) return mean(losses);
  GraphBuilder& builder = context.builder;
  const GraphBuilder::Scope scope(builder, kExactScope);
  Value count = sum(context.row_mask);
  if (context.loss_ranks > 1)
    count = builder.apply("all_reduce", {count}, {{"ranks", context.loss_ranks}, {"reduction", std::string("mean")}});
  const double one_row = 1.0 / static_cast<double>(context.loss_ranks);
  return sum(losses) / builder.apply("maximum", {count, builder.constant(one_row)});
}

Network image_classifier(const StepOptions& given) {
  const StepOptions options = completed(given);
  return {.name = std::string(options.model->name),
          .loss = [options](ModelContext& context) { return classifier_loss(context, options); },
          .evaluate = [options](ModelContext& context) { classifier_evaluation(context, options); },
          .predict = [options](ModelContext& context) { classifier_prediction(context, options); },
          .columns = {{kImagesInput, "image"}, {kLabelsInput, "label"}}};
}

Step build_training_step(const Network& network, const TrainingOptions& training, std::uint64_t seed) {
  if (!network.loss) throw Error("the network " + network.name + " has no loss: it cannot be trained");
  Step result;
  std::vector<ParameterSpec>& parameters = result.parameters;

  GraphBuilder forward("train_step");
  const ParameterSpec counter{kGlobalStep, {}, zeros(), ParameterRole::counter, DType::i64, false};
  const Value step = forward.state(kGlobalStep, {DType::i64, {}});
  std::vector<ParameterSpec> states;
  GradientProcess process(forward, training.gradients, states);
  if (!(training.average >= 0 && training.average < 1)) {
    throw Error("average is " + std::to_string(training.average) + "; it must lie in [0, 1)", ErrorKind::usage);
  }
  ModelContext context{.builder = forward,
                       .training = true,
                       .images = {},
                       .step = process.dropout_step(step),
                       .seed = seed,
                       .parameters = parameters,
                       .statistics_ranks = training.statistics_ranks,
                       .loss_ranks = training.loss_ranks};
  const Value loss = network.loss(context);
  if (!loss.is_of(forward)) throw Error("the loss of " + network.name + " is " + loss.foreign_text(forward));
  if (loss.type() != ValueType{DType::f32, Shape{}}) {
    throw Error("the loss of " + network.name + " is " + loss.type().to_string() + "; f32[] is meant");
  }
  const std::vector<TrainedParameter> trained =
      trained_parameters(parameters, training.weight_decay, training.decay_vectors, training.groups);
  // The penalty is added to the loss only where its gradient is.
  const Value penalty = training.optimizer.coupled() ? l2_penalty(forward, trained) : Value();
  const Value total_loss = penalty.defined() ? loss + penalty : loss;
  const Value target = process.scaled(loss);

  std::vector<ValueId> with_respect_to;
  for (const TrainedParameter& p : trained) with_respect_to.push_back(forward.graph().find_argument(p.spec.name));
  const ValueId loss_id = loss.id(), penalty_id = penalty.defined() ? penalty.id() : kNoValue;
  const ValueId total_id = total_loss.id(), target_id = target.id(), step_id = step.id();
  Graph graph = forward.finish();
  const std::vector<ValueId> ids = differentiate(graph, target_id, with_respect_to);
  if (training.gradients.loss_scale) keep_statistics(graph, loss_id, training.statistics_ranks);

  GraphBuilder builder(std::move(graph));
  std::vector<Value> gradients;
  for (std::size_t i = 0; i < trained.size(); ++i) {
    if (ids[i] == kNoValue) {
      throw Error("the loss of " + network.name + " does not use its parameter " + trained[i].spec.name +
                  ": leave it out, or freeze it (TrainingOptions::groups)" + behind_message(trained[i].spec.where));
    }
    gradients.push_back(builder.value(ids[i]));
  }
  gradients = process.process(builder, trained, gradients, states);
  const Value apply = process.apply();
  const std::vector<ParameterSpec> slots = declare_slots(builder, trained, training.optimizer);
  const Value global_step = builder.value(step_id);
  const Value rate = cast(optim::learning_rate(training.schedule, global_step), DType::f32);
  add_updates(builder, trained, gradients, apply, {rate, global_step, Location::of(At::current())}, training);
  parameters.insert(parameters.end(), slots.begin(), slots.end());
  if (training.average > 0) add_averages(builder, trained, apply, training.average, result);
  parameters.insert(parameters.end(), states.begin(), states.end());
  parameters.push_back(counter);

  builder.name_next("next_step");
  const Value next_step = builder.apply("add", {global_step, builder.constant(1, DType::i64)});
  builder.update(global_step, where_applied(apply, next_step, global_step));
  const bool several = training.gradients.accumulate > 1;
  const Value mean_loss = process.mean_loss(builder, builder.value(loss_id));
  builder.returns(kLossResult, mean_loss);
  builder.returns(kTotalLossResult, several && penalty_id != kNoValue ? mean_loss + builder.value(penalty_id)
                                    : several                         ? mean_loss
                                                                      : builder.value(total_id));
  builder.returns(kRateResult, rate);
  result.graph = builder.finish();
  return result;
}

namespace {

Step build_step(const Network& network, const std::function<void(ModelContext&)>& build, const char* name,
                const char* what) {
  if (!build) throw Error("the network " + network.name + " has no " + what);
  Step result;
  GraphBuilder builder(name);
  ModelContext context{.builder = builder, .images = {}, .step = {}, .parameters = result.parameters};
  build(context);
  result.graph = builder.finish();
  return result;
}

}  // namespace

Step build_evaluation_step(const Network& network) {
  return build_step(network, network.evaluate, "evaluation_step", "evaluation");
}

Step build_prediction_step(const Network& network) {
  return build_step(network, network.predict, "prediction_step", "prediction");
}

}  // namespace ridgeline::nn
