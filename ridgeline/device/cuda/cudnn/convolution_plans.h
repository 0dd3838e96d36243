// ridgeline/device/cuda/cudnn/convolution_plans.h
//
// The plan of one convolution, and those that take its place where it fails: kept from an earlier run, the fastest of
// the first few where there is a clock, or the first of the heuristics.
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
  // `libraries` outlives it. A Failure, where the library has no plan that keeps to the rules.
  ConvolutionPlans(Libraries& libraries, const Convolution& convolution, const PlanRules& rules);

  const Plan& plan() const { return *plan_; }
  const Convolution& convolution() const { return convolution_; }
  // Where the values lie and in which order: ids of their graph (convolution.h).
  const std::vector<std::int64_t>& ids() const { return ids_; }
  // Gives the work to the stream. A plan that fails is named once, and the next one taken whose workspace is not larger
  // than the first one's; an Error when there is none.
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
  // The next one that keeps NaN where it has a relu.
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
  std::vector<Plan> others_;  // that were timed, the fastest first
  int lose_nan_ = 0;          // plans that were passed over
  std::size_t workspace_bytes_ = 0;
  std::string reason_;
};

}  // namespace ridgeline::cuda::cudnn
