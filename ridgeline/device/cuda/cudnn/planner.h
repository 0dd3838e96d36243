// ridgeline/device/cuda/cudnn/planner.h
//
// Which of the library's engines compute an operation graph, in the order in which its heuristics put them, without
// those that break a rule: f32 arithmetic where it is asked for, equal bits, the workspace. Plans are built when they
// are asked for, since compiling one at run time takes up to seconds.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/device/cuda/cudnn/operation_graph.h"
#include "ridgeline/device/cuda/cudnn/plan.h"

namespace ridgeline::cuda::cudnn {

// What a plan must keep to.
struct PlanRules {
  // False for f32 that is f32: no tensor cores, which round f32 operands to 10 bits.
  bool tensor_cores = true;
  // No engine that says that its bits vary from run to run.
  bool repeatable = true;
  // Engines that are compiled at run time as well: the library's notes about their bits cannot be trusted.
  bool compiled = true;
  // No algorithm that trades accuracy for fewer multiplications.
  bool high_precision = false;
  std::size_t workspace_bytes = std::size_t{512} << 20;
  // For keys of kept plans.
  std::string text() const;
};

// The engines that the heuristics name for one graph. It lives no longer than the target.
class Candidates {
 public:
  // A Failure, where the library does not take the graph.
  Candidates(const Target& target, std::unique_ptr<OperationGraph> graph, const PlanRules& rules);

  // The next plan that can be built and keeps to the rules; nullopt when there is no further one.
  std::optional<Plan> next();
  // The engines that the heuristics named, and why each that has been passed over was.
  std::size_t engines() const { return configurations_.size(); }
  const std::vector<std::string>& refusals() const { return refusals_; }
  // For messages: the reasons, each once, with how many engines have it.
  std::string why_none() const;

 private:
  void ask(HeuristicsMode mode);

  const Target& target_;
  std::unique_ptr<OperationGraph> graph_;
  const Descriptor* finished_;
  PlanRules rules_;
  std::vector<Descriptor> configurations_;
  std::size_t next_ = 0;
  std::vector<std::string> refusals_, names_;
};

// The notes of the engine of a configuration, and its name for reports: "engine 57 (2=19, 3=0)".
EngineNotes notes_of(const Descriptor& configuration);
std::string name_of(const Descriptor& configuration);
// Why the rules exclude an engine; empty where they do not.
std::string broken_rule(const PlanRules& rules, const EngineNotes& notes);

}  // namespace ridgeline::cuda::cudnn
