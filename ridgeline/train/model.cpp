#include "ridgeline/train/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ridgeline/compile/run/phase.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/format/wire/crc32c.h"
#include "ridgeline/graph/ir/annotations.h"
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/pass/inline.h"
#include "ridgeline/graph/pass/server_plan.h"
#include "ridgeline/graph/pass/shard_updates.h"
#include "ridgeline/infer/unusable_values.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/ranks/ranks.h"

namespace ridgeline::train {
namespace {

// Whether ops of the graph draw random numbers.
bool draws(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const Node& node) { return op_def(node.op).has(kRandom); }) ||
         std::any_of(graph.functions.begin(), graph.functions.end(), [](const auto& f) { return draws(f.second); });
}

ValueKind kind_of(const nn::ParameterSpec& spec) { return spec.trainable() ? ValueKind::param : ValueKind::state; }

}  // namespace

PrecisionPolicy with_exact_scope(PrecisionPolicy policy, const Graph& step) {
  const std::string exact = std::string(nn::kExactScope) + "/";
  const auto& nodes = step.nodes;
  if (std::any_of(nodes.begin(), nodes.end(), [&](const Node& n) { return n.name.starts_with(exact); }))
    policy.keep.emplace_back(nn::kExactScope);
  return policy;
}

Model::Model(Session& session, nn::Network network, ModelSettings settings)
    : session_(session), network_(std::move(network)), settings_(std::move(settings)) {}

CompileOptions Model::compile_options(const char* part) const {
  CompileOptions options = settings_.compile;
  if (!options.dump_directory.empty()) options.dump_directory += std::string("/") + part;
  return options;
}

void Model::claim(const nn::Step& step) {
  for (const nn::ParameterSpec& spec : step.parameters) {
    if (claimed_.contains(spec.name)) continue;
    if (session_.parameters().contains(spec.name)) {
      throw Error(
          fmt::format("the session holds a parameter {} already, and the model {} would draw it anew: each "
                      "model needs a session of its own",
                      spec.name, network_.name));
    }
    claimed_.insert(spec.name);
  }
}

// After compilation, which refuses what does not fit into memory: drawing large parameters takes long.
void Model::declare(const nn::Step& step) {
  const ComputeScope team(session_.compute_threads());
  const Phase phase(session_, "draw parameters");
  for (const nn::ParameterSpec& spec : step.parameters) {
    const bool known =
        std::any_of(parameters_.begin(), parameters_.end(), [&](const auto& p) { return p.name == spec.name; });
    if (known) continue;
    parameters_.push_back(spec);
    if (!holdings_.whole(spec.name)) {
      if (!holdings_.holds(spec.name)) continue;
      Tensor whole(spec.dtype, spec.shape);
      nn::initialize(spec, settings_.seed, whole);
      session_.parameters().set(spec.name, holdings_.own(spec.name, whole), kind_of(spec));
    } else if (spec.init.zeros())
      session_.parameters().set_zeros(spec.name, {spec.dtype, spec.shape}, kind_of(spec));
    else
      session_.parameters().write(spec.name, {spec.dtype, spec.shape}, kind_of(spec),
                                  [&](Tensor& value) { nn::initialize(spec, settings_.seed, value); });
  }
}

void Model::compile_training(const Graph& graph, const PrecisionPolicy& precision, const char* part) {
  CompileOptions options = compile_options(part);
  options.precision = with_exact_scope(precision, graph);
  options.distribution = settings_.distribution;
  const Distribution& distribution = settings_.distribution;
  Graph step = annotate(graph, kStage, settings_.stages);
  step = annotate(std::move(step), kShard, settings_.shards);
  if (distribution.mode == ParallelMode::hybrid_parallel || distribution.mode == ParallelMode::auto_parallel)
    step = inline_calls(std::move(step));
  check_shards(step, distribution);
  parallel_plan_ = plan_shards(step, distribution);
  if (distribution.servers > 0) parallel_plan_.text = plan_servers(step, distribution).text();
  training_ = compile(annotated(std::move(step), parallel_plan_.layers), session_, by_annotations(options));
  if (parallel_plan_.text.empty()) parallel_plan_.text = training_->ranks_plan();
  compare_ranks();
  training_compile_options_ = std::move(options);
  training_compile_options_.dump_directory.clear();
}

// Compares ranks that run the same step: not stages, and with servers only the workers.
void Model::compare_ranks() const {
  const Distribution& distribution = settings_.distribution;
  if (distribution.pipeline.stages > 1) return;
  if (distribution.servers == 0) return Ranks(session_).compare(*training_);
  const auto workers = session_.groups().find(kWorkersGroup);
  if (workers != session_.groups().end()) Ranks(workers->second).compare(*training_);
}

// The names of updated parameters that match; a pattern without any is an Error.
void Model::place_on_servers(const nn::Step& step) {
  Distribution& distribution = settings_.distribution;
  distribution.on_servers.clear();
  if (distribution.servers == 0) return;
  std::set<std::string> updated;
  for (const Update& update : step.graph.updates) {
    const ValueInfo& info = step.graph.value(update.current);
    if (info.kind == ValueKind::param) updated.insert(info.name);
  }
  if (settings_.server_parameters.empty()) distribution.on_servers.insert(updated.begin(), updated.end());
  for (const std::string& pattern : settings_.server_parameters) {
    bool found = false;
    for (const std::string& name : updated) {
      if (!nn::matches(pattern, name)) continue;
      found = true;
      distribution.on_servers.insert(name);
    }
    if (found) continue;
    throw Error(fmt::format("server_parameters '{}' matches no parameter that is trained (such as {})", pattern,
                            updated.empty() ? "none" : *updated.begin()),
                ErrorKind::usage);
  }
}

// A computed division is written into the step as annotations for the pass.
CompileOptions Model::by_annotations(CompileOptions options) {
  ParallelMode& mode = options.distribution.mode;
  if (mode == ParallelMode::hybrid_parallel || mode == ParallelMode::auto_parallel)
    mode = ParallelMode::semi_auto_parallel;
  return options;
}

void Model::set_seed(std::uint64_t seed) {
  if (!parameters_.empty())
    throw Error("set_seed() comes before the model's parameters are drawn: before prepare_training()",
                ErrorKind::usage);
  settings_.seed = seed;
  seeds_data_ = true;
}

void Model::prepare_training(const nn::TrainingOptions& options, const PrecisionPolicy* precision) {
  nn::Step step = [&] {
    const Phase phase(session_, "build the step");
    nn::Step built = nn::build_training_step(network_, options, settings_.seed);
    built.graph = in_parts(std::move(built.graph), settings_.parts);
    return built;
  }();
  claim(step);
  place_on_servers(step);
  if (settings_.distribution.shard_updates && settings_.distribution.ranks > 1)
    check_split_updates(step.graph, settings_.distribution.ranks);
  compile_training(step.graph, precision ? *precision : settings_.compile.precision, "training");
  const auto world = session_.groups().find(settings_.distribution.group);
  if (settings_.distribution.world() > 1 && world != session_.groups().end())
    holdings_ = Holdings(step.parameters, training_->graph(), world->second);
  declare(step);
  averages_ = std::move(step.averages);
  begin_averages();
  runs_per_step_ = options.gradients.accumulate;
  gradients_ = options.gradients;
  training_graph_ = std::move(step.graph);
}

// Parameters get the home layouts that the new step chooses, as in a run that begins here: kernels depend on them, and
// so do bits.
void Model::recompile_training(const PrecisionPolicy& precision) {
  RIDGELINE_CHECK(training_ != nullptr, "there is no training to compile again");
  const bool evaluates = evaluation_ != nullptr, predicts = prediction_ != nullptr;
  training_.reset();  // memory is free before that of the next one is taken
  evaluation_.reset();
  prediction_.reset();
  beside_.clear();
  for (const std::string& name : session_.parameters().names()) session_.parameters().release_home(name);
  compile_training(training_graph_, precision, "training_again");
  if (evaluates) prepare_evaluation();
  if (predicts) prepare_prediction();
}

Program& Model::beside(const std::string& name, FunctionRef<std::unique_ptr<Program>()> compiled) {
  std::unique_ptr<Program>& program = beside_[name];
  if (!program) program = compiled();
  return *program;
}

// Averages begin as their parameters, drawn or loaded.
void Model::begin_averages() {
  for (const nn::Step::Average& average : averages_) {
    if (!holdings_.holds(average.name)) continue;
    session_.parameters().set(average.name, session_.parameters().get(average.parameter), ValueKind::state);
  }
}

void Model::swap_averages() {
  ParameterStore& store = session_.parameters();
  for (const nn::Step::Average& average : averages_) {
    if (!holdings_.holds(average.name)) continue;
    const Tensor parameter = store.get(average.parameter), mean = store.get(average.name);
    store.set(average.parameter, mean, ValueKind::param);
    store.set(average.name, parameter, ValueKind::state);
  }
}

void Model::with_averages(FunctionRef<void()> body) {
  if (averages_.empty() || averaged_) return body();
  // Swapped back whatever the body throws.
  struct Swapped {
    explicit Swapped(Model& m) : model(m) { set(true); }
    ~Swapped() { set(false); }
    void set(bool averaged) {
      model.swap_averages();
      model.averaged_ = averaged;
    }
    Model& model;
  };
  const Swapped swapped(*this);
  body();
}

LaunchCounts Model::count_without(const std::vector<std::string>& passes) {
  CompileOptions options = compile_options("training");
  options.disabled_passes.insert(options.disabled_passes.end(), passes.begin(), passes.end());
  options.dump_directory.clear();
  return count_launches(training_graph_, session_, options);
}

void Model::prepare_evaluation() {
  if (evaluation_) return;
  check_whole("evaluation");
  const nn::Step step = nn::build_evaluation_step(network_);
  claim(step);
  evaluation_ = compile(step.graph, session_, compile_options("evaluation"));
  declare(step);
}

// Programs other than the training step run on one rank.
void Model::check_whole(const char* part) const {
  if (holdings_.everything()) return;
  throw Error(fmt::format("the ranks hold parts of the model's values, and {} needs all of them: run it on a "
                          "checkpoint, in a process of its own",
                          part),
              ErrorKind::usage);
}

void Model::prepare_prediction() {
  if (prediction_) return;
  check_whole("prediction");
  const nn::Step step = nn::build_prediction_step(network_);
  claim(step);
  prediction_ = compile(step.graph, session_, compile_options("prediction"));
  declare(step);
}

std::string Model::kernel_plan() const {
  const std::string& by_time = training().kernel_plan();
  return by_time.empty() ? kDefaultPlan : by_time;
}

namespace {

Program& prepared(const std::unique_ptr<Program>& program, const char* part) {
  if (program == nullptr)
    throw Error(fmt::format("the model's {} is not prepared: call prepare_{}() first", part, part), ErrorKind::usage);
  return *program;
}

}  // namespace

Program& Model::training() const { return prepared(training_, "training"); }
Program& Model::evaluation() const { return prepared(evaluation_, "evaluation"); }
Program& Model::prediction() const { return prepared(prediction_, "prediction"); }

infer::Model Model::exported_training() const {
  prepared(training_, "training");
  if (!holdings_.everything())
    throw Error(
        "a training step is exported by a rank that holds all values: under parallel_mode stand_alone or "
        "data_parallel, without stages or split updates",
        ErrorKind::usage);
  return infer::capture(session_.parameters(), training_graph_, network_.name);
}

std::int64_t Model::global_step() const {
  prepared(training_, "training");  // the counter is a part of it
  return session_.parameters().get(nn::kGlobalStep).data<std::int64_t>()[0];
}

std::int64_t Model::runs_done() const {
  if (runs_per_step_ == 1) return 0;
  return static_cast<std::int64_t>(session_.parameters().get(nn::kMicroStep).data<float>()[0]);
}

std::optional<double> Model::fixed_loss_scale() const {
  if (!gradients_.loss_scale || !gradients_.loss_scale->is_fixed()) return std::nullopt;
  return gradients_.loss_scale->initial;
}

double Model::overflows_in_a_row() const {
  const ParameterStore& store = session_.parameters();
  return store.contains(nn::kOverflowsInARow) ? store.get(nn::kOverflowsInARow).data<float>()[0] : 0;
}

double Model::loss_scale() const {
  const ParameterStore& store = session_.parameters();
  return store.contains(nn::kLossScale) ? store.get(nn::kLossScale).data<float>()[0] : 1;
}

std::vector<NamedTensor> Model::to_file() const {
  std::vector<NamedTensor> tensors;
  for (const nn::ParameterSpec& spec : parameters_) {
    tensors.push_back({spec.name, ridgeline::to_file(spec, holdings_.gather(spec, session_.parameters()))});
  }
  return tensors;
}

const data::IteratorState* Model::place_in(std::uint64_t graph_hash) const {
  const auto found = places_.find(graph_hash);
  return found == places_.end() ? nullptr : &found->second;
}

bool Model::ranks_draw_apart() const {
  const Distribution& distribution = settings_.distribution;
  const bool divides = distribution.pipeline.stages > 1 || distribution.mode != ParallelMode::data_parallel;
  return distribution.world() > 1 && !distribution.each_batch && !divides && draws(training_graph_);
}

std::vector<std::string> Model::other_places(std::uint64_t graph_hash) const {
  std::vector<std::string> places;
  for (const auto& [hash, place] : places_) {
    if (hash != graph_hash) places.push_back(place.to_json());
  }
  return places;
}

std::size_t Model::file_bytes() const {
  std::size_t bytes = 0;
  for (const nn::ParameterSpec& spec : parameters_)
    bytes += static_cast<std::size_t>(spec.shape.elements()) * size_of(spec.dtype);
  return bytes;
}

void Model::set_value(const nn::ParameterSpec& spec, const Tensor& whole) {
  if (!holdings_.whole(spec.name)) unshared_[spec.name] = whole;
  if (holdings_.holds(spec.name)) session_.parameters().set(spec.name, holdings_.own(spec.name, whole), kind_of(spec));
}

std::string Model::share() {
  const Ranks ranks(session_);
  if (holdings_.everything()) return ranks.tell(session_.parameters());
  comm::Communicator& all = *session_.groups().at(settings_.distribution.group);
  ParameterStore& store = session_.parameters();
  std::map<std::string, const nn::ParameterSpec*> by_name;  // in the order of checksum_of()
  for (const nn::ParameterSpec& spec : parameters_) by_name[spec.name] = &spec;
  std::uint32_t crc = 0;
  for (const auto& [name, spec] : by_name) {
    const auto unshared = unshared_.find(name);
    std::int32_t sent = unshared != unshared_.end() || holdings_.whole(name) ? 1 : 0;
    all.broadcast(&sent, sizeof sent);
    if (sent != 0) {
      Tensor value = !ranks.main()                 ? Tensor(spec->dtype, spec->shape)
                     : unshared != unshared_.end() ? unshared->second
                                                   : store.get(name);
      all.broadcast(value.raw(), static_cast<std::int64_t>(value.byte_size()));
      if (!ranks.main() && holdings_.holds(name)) store.set(name, holdings_.own(name, value), kind_of(*spec));
    }
    const Tensor whole = holdings_.gather(*spec, store);
    crc = crc32c({reinterpret_cast<const std::uint8_t*>(name.data()), name.size()}, crc);
    crc = crc32c({static_cast<const std::uint8_t*>(whole.raw()), whole.byte_size()}, crc);
  }
  unshared_.clear();
  const std::string own = fmt::format("{:08x}", crc);
  std::string of_main = own;
  ranks.tell(of_main);
  if (ranks.largest(own != of_main ? 1 : 0) > 0) {
    throw Error(
        fmt::format("[ranks] the stored values of rank {} have checksum {}, those of rank 0 {}: the ranks do "
                    "not train the same model",
                    ranks.rank(), own, of_main));
  }
  return own;
}

void Model::load(const SafetensorsFile& file) {
  // Without training, averages are taken as the parameters.
  const auto stored_name = [&](const nn::ParameterSpec& spec) {
    const std::string average = optim::slot_name(spec.name, nn::kAverageSlot);
    return !training_ && spec.trainable() && file.has(average) ? average : spec.name;
  };
  for (const nn::ParameterSpec& spec : parameters_) {
    if (!file.has(spec.name)) {
      throw Error(fmt::format("[checkpoint] {}: has no tensor {} of model {}: it belongs to another model", file.path(),
                              spec.name, network_.name));
    }
    const Tensor& stored = file.tensor(stored_name(spec));
    if (stored.shape() != file_shape(spec)) {
      throw Error(fmt::format("[checkpoint] {}: {} is {}{}, but {} in the model", file.path(), spec.name,
                              name_of(stored.dtype()), stored.shape().to_string(), file_shape(spec).to_string()));
    }
  }
  std::vector<std::string> unusable;
  for (const nn::ParameterSpec& spec : parameters_) {
    const std::string name = stored_name(spec);
    const std::string said = unusable_values(name, file.tensor(name), spec.variance);
    if (!said.empty()) unusable.push_back(said);
  }
  expect_usable("[checkpoint] " + file.path(), unusable);
  for (const nn::ParameterSpec& spec : parameters_) {
    set_value(spec, from_file(spec, file.tensor(stored_name(spec))));
  }
}

void Model::set_values(const Model& from) {
  for (const nn::ParameterSpec& spec : parameters_)
    set_value(spec, from.holdings_.gather(spec, from.session_.parameters()));
}

WeightMatch Model::load_weights(std::span<const NamedTensor> stored, WeightRules rules) {
  std::vector<nn::ParameterSpec> wanted;
  for (const nn::ParameterSpec& spec : parameters_) {
    if (spec.role == nn::ParameterRole::trainable || spec.role == nn::ParameterRole::statistic) wanted.push_back(spec);
  }
  rules.model = network_.name;
  WeightMatch match = take_weights(wanted, stored, rules);
  for (const nn::ParameterSpec& spec : wanted) {
    const auto it = match.tensors.find(spec.name);
    if (it != match.tensors.end()) set_value(spec, it->second);
  }
  begin_averages();
  for (const nn::Step::Average& average : averages_) {
    const auto whole = unshared_.find(average.parameter);
    if (whole != unshared_.end()) unshared_[average.name] = Tensor(whole->second);
  }
  return match;
}

}  // namespace ridgeline::train
