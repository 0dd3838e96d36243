#include "ridgeline/train/network.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/compile/phase.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/threads.h"

namespace ridgeline::train {
namespace {

ValueKind kind_of(const nn::ParameterSpec& spec) { return spec.trainable() ? ValueKind::param : ValueKind::state; }

}  // namespace

Network::Network(Session& session, const Recipe& recipe, std::int64_t num_classes)
    : session_(session), recipe_(recipe), precision_(policy_of(recipe.precision)) {
  options_.model = &nn::model_named(recipe.model);
  options_.model_options = recipe.model_options;
  options_.model_options.num_classes = num_classes;
  options_.batch_size = recipe.batch_size;
  options_.image_size = recipe.image_size == 0 ? options_.model->image_size : recipe.image_size;
  options_.images = recipe.enable_data_pre_proc ? nn::ImageForm::u8 : nn::ImageForm::f32;
  options_.label_smoothing = recipe.label_smoothing;
  options_.seed = recipe.seed;
}

CompileOptions Network::compile_options(const char* part) const {
  CompileOptions options;
  options.fusion = recipe_.fusion;
  options.disabled_passes = recipe_.disabled_passes;
  options.precision = precision_;
  options.memory_limit = static_cast<std::size_t>(recipe_.memory_limit);
  options.soft_placement = recipe_.allow_soft_placement;
  if (!recipe_.dump_ir.empty()) options.dump_directory = recipe_.dump_ir + "/" + part;
  return options;
}

// Behind compilation, which refuses what does not fit into memory: drawing large parameters takes long.
void Network::declare(const nn::Step& step) {
  const ComputeScope team(session_.compute_threads());
  const Phase phase(session_, "draw parameters");
  for (const nn::ParameterSpec& spec : step.parameters) {
    const bool known =
        std::any_of(parameters_.begin(), parameters_.end(), [&](const auto& p) { return p.name == spec.name; });
    if (known) continue;
    parameters_.push_back(spec);
    if (spec.init.zeros())
      session_.parameters().set_zeros(spec.name, {spec.dtype, spec.shape}, kind_of(spec));
    else
      session_.parameters().set(spec.name, nn::initialize(spec, recipe_.seed), kind_of(spec));
  }
}

void Network::prepare_training(const optim::Schedule& schedule) {
  nn::Step step = [&] {
    const Phase phase(session_, "build the step");
    return nn::build_training_step(options_, training_options(recipe_, schedule));
  }();
  training_ = compile(step.graph, session_, compile_options("training"));
  declare(step);
  training_graph_ = std::move(step.graph);
}

LaunchCounts Network::count_unfused() {
  CompileOptions options = compile_options("training");
  options.fusion = false;
  options.dump_directory.clear();
  return count_launches(training_graph_, session_, options);
}

void Network::prepare_evaluation() {
  if (evaluation_) return;
  const nn::Step step = nn::build_evaluation_step(options_);
  evaluation_ = compile(step.graph, session_, compile_options("evaluation"));
  declare(step);
}

void Network::prepare_prediction() {
  if (prediction_) return;
  const nn::Step step = nn::build_prediction_step(options_);
  prediction_ = compile(step.graph, session_, compile_options("prediction"));
  declare(step);
}

std::int64_t Network::global_step() const { return session_.parameters().get(nn::kGlobalStep).data<std::int64_t>()[0]; }

std::vector<NamedTensor> Network::to_file() const {
  std::vector<NamedTensor> tensors;
  for (const nn::ParameterSpec& spec : parameters_) {
    tensors.push_back({spec.name, nn::to_file(spec, session_.parameters().get(spec.name))});
  }
  return tensors;
}

void Network::load(const SafetensorsFile& file) {
  for (const nn::ParameterSpec& spec : parameters_) {
    if (!file.has(spec.name)) {
      throw Error(fmt::format("[checkpoint] {}: has no tensor {} of model {}: it belongs to another model", file.path(),
                              spec.name, recipe_.model));
    }
  }
  for (const nn::ParameterSpec& spec : parameters_) {
    const Tensor& stored = file.tensor(spec.name);
    if (stored.shape() != nn::file_shape(spec)) {
      throw Error(fmt::format("[checkpoint] {}: {} is {}{}, but {} in the model", file.path(), spec.name,
                              name_of(stored.dtype()), stored.shape().to_string(), nn::file_shape(spec).to_string()));
    }
    session_.parameters().set(spec.name, nn::from_file(spec, stored), kind_of(spec));
  }
}

nn::WeightMatch Network::load_weights(const std::string& path, std::span<const std::string> exclude,
                                      std::string_view advice) {
  const SafetensorsFile file(path);
  std::vector<nn::ParameterSpec> wanted;
  for (const nn::ParameterSpec& spec : parameters_) {
    if (spec.role == nn::ParameterRole::trainable || spec.role == nn::ParameterRole::statistic) wanted.push_back(spec);
  }
  nn::WeightMatch match = nn::match_weights(wanted, file.tensors(), exclude);
  if (!match.mismatched.empty()) {
    throw Error(fmt::format("[restore] {}: shapes differ: {} ({})", path, fmt::join(match.mismatched, "; "), advice));
  }
  if (match.loaded.empty()) {
    throw Error(fmt::format("[restore] {}: none of its {} tensors belongs to model {} (the first is {}, wanted is {})",
                            path, file.tensors().size(), recipe_.model,
                            file.tensors().empty() ? "missing" : file.tensors().front().name, wanted.front().name));
  }
  for (const nn::ParameterSpec& spec : wanted) {
    const auto it = match.tensors.find(spec.name);
    if (it != match.tensors.end()) session_.parameters().set(spec.name, it->second, kind_of(spec));
  }
  return match;
}

}  // namespace ridgeline::train
