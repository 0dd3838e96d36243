#include "ridgeline/device/cuda/cudnn/planner.h"

#include <algorithm>
#include <map>

namespace ridgeline::cuda::cudnn {
namespace {

// The library does not count the knobs of a configuration; version 9.19 has 44 of them.
constexpr std::int64_t kMostKnobs = 64;

Descriptor engine_of(const Descriptor& configuration) {
  std::vector<Descriptor> engines =
      configuration.get_descriptors(Attribute::configuration_engine, DescriptorType::engine, 1);
  return std::move(engines.at(0));
}

template <class Note>
unsigned bits_of(const Descriptor& engine, Attribute attribute, int room) {
  unsigned bits = 0;
  for (const Note note : engine.get_all<Note>(attribute, room)) bits |= 1u << static_cast<int>(note);
  return bits;
}

}  // namespace

std::string PlanRules::text() const {
  return std::string(tensor_cores ? "tensor cores" : "f32") + (repeatable ? ", repeatable" : "") +
         (compiled ? "" : ", compiled before") + (high_precision ? ", high precision" : "") + ", workspace " +
         std::to_string(workspace_bytes >> 20) + " MB";
}

EngineNotes notes_of(const Descriptor& configuration) {
  const Descriptor engine = engine_of(configuration);
  return {bits_of<NumericalNote>(engine, Attribute::engine_numerical_notes, kNumericalNotes),
          bits_of<BehaviorNote>(engine, Attribute::engine_behavior_notes, kBehaviorNotes)};
}

std::string name_of(const Descriptor& configuration) {
  std::string name = "engine " + std::to_string(engine_of(configuration).get<std::int64_t>(Attribute::engine_index));
  std::string knobs;
  for (const Descriptor& choice :
       configuration.get_descriptors(Attribute::configuration_knob_choices, DescriptorType::knob_choice, kMostKnobs)) {
    knobs += (knobs.empty() ? " (" : ", ") +
             std::to_string(static_cast<int>(choice.get<KnobType>(Attribute::knob_choice_type))) + "=" +
             std::to_string(choice.get<std::int64_t>(Attribute::knob_choice_value));
  }
  return name + (knobs.empty() ? "" : knobs + ")");
}

std::string broken_rule(const PlanRules& rules, const EngineNotes& notes) {
  if (!rules.tensor_cores && notes.has(NumericalNote::tensor_core)) return "rounds f32 operands for tensor cores";
  if (!rules.tensor_cores && notes.has(NumericalNote::down_converts_inputs)) return "rounds f32 operands";
  if (notes.has(NumericalNote::reduced_precision_reduction)) return "sums in less than f32";
  if (rules.repeatable && notes.has(NumericalNote::nondeterministic)) return "its bits vary from run to run";
  if (!rules.compiled && notes.has(BehaviorNote::compiled_at_run_time)) {
    return "is compiled at run time, and nobody promises its bits";
  }
  if (notes.has(NumericalNote::fft)) return "spreads NaN over the whole image";
  if (rules.high_precision && notes.has(NumericalNote::winograd)) {
    return "trades accuracy for fewer multiplications";
  }
  return "";
}

Candidates::Candidates(const Target& target, std::unique_ptr<OperationGraph> graph, const PlanRules& rules)
    : target_(target), graph_(std::move(graph)), finished_(&graph_->finish(target.handle())), rules_(rules) {
  ask(HeuristicsMode::best);
  ask(HeuristicsMode::fallback);
}

// The fallback list holds engines that support much and are seldom fast; where the heuristics have none for a graph,
// they fail, which does not rule out the fallback.
void Candidates::ask(HeuristicsMode mode) {
  try {
    Descriptor heuristics(target_.functions(), DescriptorType::engine_heuristics);
    heuristics.set(Attribute::heuristics_graph, *finished_);
    heuristics.set(Attribute::heuristics_mode, mode);
    if (target_.description() != nullptr) heuristics.set(Attribute::heuristics_device, *target_.description());
    heuristics.finalize();
    for (Descriptor& configuration :
         heuristics.get_descriptors(Attribute::heuristics_results, DescriptorType::engine_configuration)) {
      configurations_.push_back(std::move(configuration));
    }
  } catch (const Failure& failure) {
    refusals_.push_back(failure.what());
  }
}

std::optional<Plan> Candidates::next() {
  while (next_ < configurations_.size()) {
    const Descriptor& configuration = configurations_[next_++];
    std::string name = "an engine";
    try {
      name = name_of(configuration);
      if (std::find(names_.begin(), names_.end(), name) != names_.end()) continue;  // both lists have it
      names_.push_back(name);
      const EngineNotes notes = notes_of(configuration);
      if (const std::string reason = broken_rule(rules_, notes); !reason.empty()) {
        refusals_.push_back(reason);
        continue;
      }
      Descriptor descriptor(target_.functions(), DescriptorType::execution_plan);
      if (target_.handle() != nullptr) descriptor.set_handle(Attribute::plan_handle, target_.handle());
      descriptor.set(Attribute::plan_configuration, configuration);
      if (target_.description() != nullptr) descriptor.set(Attribute::plan_device, *target_.description());
      descriptor.finalize();
      Plan plan(std::move(descriptor), name, notes);
      if (plan.workspace_bytes() <= rules_.workspace_bytes) return plan;
      refusals_.push_back("needs more than " + std::to_string(rules_.workspace_bytes >> 20) + " MB of workspace");
    } catch (const Failure& failure) {
      refusals_.push_back(failure.what());
    }
  }
  return std::nullopt;
}

std::string Candidates::why_none() const {
  std::map<std::string, int> counts;
  for (const std::string& refusal : refusals_) ++counts[refusal];
  std::string text;
  for (const auto& [reason, count] : counts) {
    text += (text.empty() ? "" : "; ") + reason + (count > 1 ? " (" + std::to_string(count) + " engines)" : "");
  }
  return text.empty() ? "its heuristics name no engine" : text;
}

}  // namespace ridgeline::cuda::cudnn
