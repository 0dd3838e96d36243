// ridgeline/device/cuda/cudnn/convolution_plans.h
//
// The execution plan of one convolution, and those that replace it if it fails. It is the one kept from an earlier run,
// the fastest of the first few if there is a clock, or the heuristics' first.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/device/cuda/cudnn/convolution.h"
#include "ridgeline/device/cuda/cudnn/planner.h"
#include "ridgeline/device/cuda/plans/libraries.h"

namespace ridgeline::cuda::cudnn {

class ConvolutionPlans {
 public:
  // `libraries` outlives it. A Failure if the library has no plan that meets the rules.
  ConvolutionPlans(Libraries& libraries, const Convolution& convolution, const PlanRules& rules);

  const Plan& plan() const { return *plan_; }
  const Convolution& convolution() const { return convolution_; }
  // The order in which run() takes addresses: ids of the graph's values (convolution.h).
  const std::vector<std::int64_t>& ids() const { return ids_; }
  // Enqueues the work on the stream. If a plan fails, warns once and takes the next one whose workspace is not larger
  // than the first one's; an Error if there is none.
  void run(std::span<void* const> addresses, void* workspace, void* stream);
  // Of the first plan.
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  // Where the plan comes from: "kept", "fastest of 8: 0.12 ms, the first 0.15 ms", "first of 31 engines".
  const std::string& reason() const { return reason_; }

 private:
  void take_kept();
  void take_fastest();
  void take_first();
  void keep(bool timed);
  Candidates& candidates();
  // The next plan that, if it has a relu, keeps NaN.
  std::optional<Plan> next_candidate();
  std::string why_none();
  Trial trial_of(const Plan& plan);

  Libraries& libraries_;
  Convolution convolution_;
  PlanRules rules_;
  std::string key_;
  std::vector<std::int64_t> ids_;
  std::vector<std::size_t> bytes_;  // of the values
  std::unique_ptr<Candidates> candidates_;
  std::optional<Plan> plan_;
  std::vector<Plan> others_;  // other plans that were timed, the fastest first
  int lose_nan_ = 0;          // plans that were skipped
  std::size_t workspace_bytes_ = 0;
  std::string reason_;
};

}  // namespace ridgeline::cuda::cudnn
