#include "ridgeline/train/doctor/examination.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ridgeline/core/error.h"
#include "ridgeline/data/runtime/iterator.h"
#include "ridgeline/train/recipe/restore_weights.h"
#include "ridgeline/train/step_graph.h"

namespace ridgeline::train {
namespace {

// Rows that known weights classify: the standard error of an accuracy is then below 4 points.
constexpr std::int64_t kAskedRows = 192;

// The op that reads both logits and labels and is not a gradient.
const Node* loss_node(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    const std::vector<std::string>& operands = op_def(node.op).operands;
    const bool labels = std::find(operands.begin(), operands.end(), "labels") != operands.end();
    const bool logits = !operands.empty() && operands[0] == "logits";
    if (labels && logits && graph.value(node.outputs[0]).kind != ValueKind::grad) return &node;
  }
  return nullptr;
}

// The first operand of the first op that reads a parameter.
ValueId first_input_of(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(),
                                   [&](ValueId id) { return graph.value(id).kind == ValueKind::param; });
    if (reads && graph.value(node.inputs[0]).kind != ValueKind::param) return node.inputs[0];
  }
  return kNoValue;
}

std::vector<ValueId> gradients_of(const Graph& graph, const std::vector<nn::TrainedParameter>& trained) {
  const std::map<std::string, ValueId> all = gradients_of_updates(graph);
  std::vector<ValueId> gradients;
  for (const nn::TrainedParameter& parameter : trained) {
    const auto found = all.find(parameter.spec.name);
    gradients.push_back(found == all.end() ? kNoValue : found->second);
  }
  return gradients;
}

// Red and blue exchanged, of [N,H,W,3].
Tensor swapped(const Tensor& images) {
  Tensor out = images.clone();
  const std::size_t size = size_of(images.dtype());
  auto* bytes = static_cast<std::uint8_t*>(out.raw());
  const auto pixels = static_cast<std::size_t>(images.elements() / 3);
  for (std::size_t i = 0; i < pixels; ++i)
    std::swap_ranges(bytes + 3 * i * size, bytes + (3 * i + 1) * size, bytes + (3 * i + 2) * size);
  return out;
}

std::vector<std::int64_t> largest_of_rows(const Tensor& scores, std::int64_t rows) {
  const std::int64_t classes = scores.shape()[1];
  std::vector<std::int64_t> best;
  for (std::int64_t n = 0; n < rows; ++n) {
    std::int64_t at = 0;
    for (std::int64_t k = 1; k < classes; ++k)
      if (scores.at(n * classes + k) > scores.at(n * classes + at)) at = k;
    best.push_back(at);
  }
  return best;
}

Recognition recognize(const Subject& subject) {
  Session session(subject.session);
  Model model(session, subject.network, {.seed = subject.seed, .compile = subject.compile});
  model.prepare_prediction();
  const WeightMatch match =
      load_weights(model, subject.reference, {.advice = "the weights are those of another set-up"});
  if (!match.missing.empty()) throw Error(fmt::format("{} has no {}", subject.reference, match.missing.front()));
  Program& program = model.prediction();
  const data::Dataset& data = subject.validation_data ? *subject.validation_data : *subject.training_data;
  data::Iterator batches(data, {.raw_images = subject.raw_images});
  Recognition seen;
  while (static_cast<std::int64_t>(seen.labels.size()) < kAskedRows) {
    const std::optional<data::Batch> batch = batches.next();
    if (!batch) break;
    InputBatch inputs = copy_of(*batch, subject.network);
    const auto ask = [&] {
      bind_inputs(program, inputs);
      if (!program.run()) throw Error("the session was stopped", ErrorKind::interrupted);
      const Tensor scores = program.output(infer::kLogits);
      seen.classes = scores.shape()[1];
      return largest_of_rows(scores, batch->samples());
    };
    for (const std::int64_t k : ask()) seen.predicted.push_back(k);
    for (std::int64_t n = 0; n < batch->samples(); ++n)
      seen.labels.push_back(static_cast<std::int64_t>(batch->label().at(n)));
    const auto images = inputs.find(infer::kImages);
    if (images == inputs.end() || images->second.shape().rank() != 4 || images->second.shape()[3] != 3) continue;
    images->second = swapped(images->second);
    for (const std::int64_t k : ask()) seen.predicted_swapped.push_back(k);
  }
  return seen;
}

}  // namespace

InputBatch copy_of(const data::Batch& batch, const nn::Network& network) {
  InputBatch inputs;
  for (const data::Column& column : batch.columns()) {
    std::string name = column.name;
    for (const nn::InputColumn& fed : network.columns)
      if (fed.column == column.name) name = fed.input;
    inputs[name] = batch.column(column.name).clone();
  }
  return inputs;
}

void bind_inputs(Program& program, const InputBatch& batch) {
  const Graph& graph = program.graph();
  for (const ValueId id : graph.arguments) {
    const ValueInfo& argument = graph.value(id);
    if (argument.kind != ValueKind::input) continue;
    const auto found = batch.find(argument.name);
    if (found == batch.end()) throw Error("the data have no column for the step's input " + argument.name);
    program.bind(argument.name, found->second);
  }
}

StartedModel::StartedModel(const Subject& subject, const optim::Schedule& schedule, const PrecisionPolicy& precision)
    : session(subject.session), model(session, subject.network, {.seed = subject.seed, .compile = subject.compile}) {
  nn::TrainingOptions options = subject.training;
  options.schedule = schedule;
  options.gradients.accumulate = 1;
  model.prepare_training(options, &precision);
  if (!subject.restore_path.empty())
    restored =
        load_weights(model, subject.restore_path, {.exclude = subject.restore_exclude, .advice = "leave them out"})
            .loaded;
}

FirstStep::FirstStep(const Subject& subject, const PrecisionPolicy& precision, const InputBatch& batch)
    : started(subject, optim::Constant{subject.rate}, precision),
      step([&] {
        nn::TrainingOptions options = subject.training;
        options.schedule = optim::Constant{subject.rate};
        options.gradients.accumulate = 1;
        return nn::build_training_step(subject.network, options, subject.seed);
      }()),
      trained(nn::trained_parameters(step.parameters, subject.training.weight_decay, subject.training.decay_vectors,
                                     subject.training.groups)),
      values(started.session, step.graph,
             [&] {
               CompileOptions options = subject.compile;
               options.precision = with_exact_scope(precision, step.graph);
               return options;
             }()),
      gradients(gradients_of(step.graph, trained)),
      loss(loss_node(step.graph)),
      first_input(first_input_of(step.graph)) {
  bind_inputs(values.program(), batch);
  values.run();
}

const InputBatch& Examination::batch() {
  if (batch_) return *batch_;
  if (!subject_.training_data) throw Error("there are no training data");
  data::Iterator batches(*subject_.training_data, {.raw_images = subject_.raw_images});
  const std::optional<data::Batch> first = batches.next();
  if (!first) throw Error("the training data are empty");
  return batch_.emplace(copy_of(*first, subject_.network));
}

FirstStep& Examination::first_step() {
  if (!first_step_) first_step_ = std::make_unique<FirstStep>(subject_, PrecisionPolicy{}, batch());
  return *first_step_;
}

const data::InspectReport* Examination::files() {
  if (!subject_.found) return nullptr;
  if (!files_) files_ = data::inspect(*subject_.found);
  return &*files_;
}

const Recognition* Examination::recognition(std::string& why) {
  if (!recognition_ && no_recognition_.empty()) {
    if (subject_.reference.empty()) {
      no_recognition_ =
          "needs weights that know these classes: --weights without --reset_head, or a checkpoint in --log_dir";
    } else if (!subject_.network.predict) {
      no_recognition_ = "the network has no prediction";
    } else if (!subject_.training_data) {
      no_recognition_ = "there are no data";
    } else {
      try {
        recognition_ = recognize(subject_);
      } catch (const Error& error) {
        no_recognition_ = error.what();
      }
    }
  }
  why = no_recognition_;
  return recognition_ ? &*recognition_ : nullptr;
}

std::pair<int, int> Examination::image_extent() {
  if (subject_.image_height > 0) return {subject_.image_height, subject_.image_width};
  const data::InspectReport* report = files();
  if (report == nullptr || report->parts.empty()) return {0, 0};
  return {static_cast<int>(report->parts[0].height.median), static_cast<int>(report->parts[0].width.median)};
}

}  // namespace ridgeline::train
