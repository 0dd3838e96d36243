// ridgeline/device/cuda/cudnn/planner.h
//
// The library's engines for an operation graph, in the order of its heuristics, without those that break a rule: exact
// f32 arithmetic, equal bits, the workspace limit. Plans are built only when requested, since compiling one at run time
// takes up to seconds.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/device/cuda/cudnn/operation_graph.h"
#include "ridgeline/device/cuda/cudnn/plan.h"

namespace ridgeline::cuda::cudnn {

// The rules that a plan must meet.
struct PlanRules {
  // False for exact f32: no tensor cores, which round f32 operands to 10 bits.
  bool tensor_cores = true;
  // Excludes engines whose notes say that their bits vary from run to run.
  bool repeatable = true;
  // Includes engines that are compiled at run time, whose notes about their bits cannot be trusted.
  bool compiled = true;
  // Excludes algorithms that trade accuracy for fewer multiplications.
  bool high_precision = false;
  std::size_t workspace_bytes = std::size_t{512} << 20;
  // For keys of kept plans.
  std::string text() const;
};

// The engines that the heuristics name for one graph. It lives no longer than the target.
class Candidates {
 public:
  // A Failure if the library does not take the graph.
  Candidates(const Target& target, std::unique_ptr<OperationGraph> graph, const PlanRules& rules);

  // The next plan that can be built and meets the rules; nullopt if there are no more.
  std::optional<Plan> next();
  // The number of engines that the heuristics gave, and why engines were skipped.
  std::size_t engines() const { return configurations_.size(); }
  const std::vector<std::string>& refusals() const { return refusals_; }
  // For messages: each reason once, with the number of engines.
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
// Why the rules exclude an engine; empty if they do not.
std::string broken_rule(const PlanRules& rules, const EngineNotes& notes);

}  // namespace ridgeline::cuda::cudnn
