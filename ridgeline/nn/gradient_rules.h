// ridgeline/nn/gradient_rules.h
//
// What happens to gradients between the backward pass and the updates: loss scaling, accumulation over several batches,
// clipping. Only builds ops; what it keeps from step to step are states of the graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/nn/parameter_groups.h"
#include "ridgeline/optim/loss_scale.h"

namespace ridgeline::nn {

struct GradientRules {
  double clip_value = 0;  // each element into [-clip_value, clip_value]; 0: not
  double clip_norm = 0;   // behind that, all gradients times clip_norm / max(norm, clip_norm); 0: not
  // A step is so many runs of the program with a batch each; its gradient is the mean of theirs.
  std::int64_t accumulate = 1;
  std::optional<optim::LossScale> loss_scale = {};

  // An Error (usage) names the setting which cannot be.
  void check() const;
  // Whether a run of the program may leave global_step as it is.
  bool may_keep_step() const { return accumulate > 1 || (loss_scale && loss_scale->skip_overflow); }
};

// States that it adds, all f32[] or of a parameter's type, and what steps return.
inline constexpr const char* kLossScale = "loss_scale";
inline constexpr const char* kOverflowsInARow = "loss_scale/overflows_in_a_row";
inline constexpr const char* kMicroStep = "micro_step";  // batches that are accumulated: 0 .. accumulate - 1
// Returned: overflows in a row up to this step (0: it is none), the norm before clipping, the scale of this step.
inline constexpr const char* kOverflowsResult = "overflows";
inline constexpr const char* kNormResult = "gradient_norm";
inline constexpr const char* kScaleResult = "loss_scale";

// The scope of the ops that decide about steps: scales, counters, norms, averages. They stay f32 in every precision: a
// scale of 2^24 is no f16.
inline constexpr const char* kExactScope = "step";

class GradientProcess {
 public:
  // Declares the states in the builder and appends them to `states`.
  GradientProcess(GraphBuilder& builder, const GradientRules& rules, std::vector<ParameterSpec>& states);

  // What is differentiated instead of the loss.
  Value scaled(Value loss) const;
  // The index that keys the dropout of this run of the program.
  Value dropout_step(Value global_step) const;

  // Behind the backward pass, with the builder that goes on: the gradients to update by, one for each of `gradients`.
  std::vector<Value> process(GraphBuilder& builder, const std::vector<TrainedParameter>& trained,
                             const std::vector<Value>& gradients, std::vector<ParameterSpec>& states);
  // bool[]: whether this run updates; undefined: every one does. Behind process().
  Value apply() const { return apply_; }
  // The mean loss of the batches of this step so far.
  Value mean_loss(GraphBuilder& builder, Value loss);

 private:
  Value argument(GraphBuilder& builder, const std::string& name) const;
  Value accumulated(GraphBuilder& builder, const std::string& name, Value current, Value last);

  GradientRules rules_;
  Value scale_, micro_step_;  // of the forward builder
  Value apply_, last_;
};

}  // namespace ridgeline::nn
