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
  double clip_value = 0;  // clips each element to [-clip_value, clip_value]; 0: no clipping
  double clip_norm = 0;   // after that, all gradients times clip_norm / max(norm, clip_norm); 0: no
  // How many runs of the program, each with a batch, make a step; its gradient is their mean.
  std::int64_t accumulate = 1;
  std::optional<optim::LossScale> loss_scale = {};

  // An Error (usage) names an invalid setting.
  void check() const;
  // Whether a run of the program may leave global_step unchanged.
  bool may_keep_step() const { return accumulate > 1 || (loss_scale && loss_scale->skip_overflow); }
};

// The states that GradientProcess adds, all f32[] or of a parameter's type, and what steps return.
inline constexpr const char* kLossScale = "loss_scale";
inline constexpr const char* kOverflowsInARow = "loss_scale/overflows_in_a_row";
inline constexpr const char* kMicroStep = "micro_step";  // batches that are accumulated: 0 .. accumulate - 1
// Returned: overflows in a row, this step included (0: this step is none), the norm before clipping, the scale of this
// step.
inline constexpr const char* kOverflowsResult = "overflows";
inline constexpr const char* kNormResult = "gradient_norm";
inline constexpr const char* kScaleResult = "loss_scale";

// The scope of the ops that control steps: scales, counters, norms, averages. They stay f32 in every precision: f16
// cannot hold a scale of 2^24.
inline constexpr const char* kExactScope = "step";

class GradientProcess {
 public:
  // Declares the states in the builder and appends them to `states`.
  GradientProcess(GraphBuilder& builder, const GradientRules& rules, std::vector<ParameterSpec>& states);

  // The value to differentiate instead of the loss.
  Value scaled(Value loss) const;
  // The index that keys the dropout of this run of the program.
  Value dropout_step(Value global_step) const;

  // Call after the backward pass, with the builder that continues: the gradients for the updates, one for each of
  // `gradients`.
  std::vector<Value> process(GraphBuilder& builder, const std::vector<TrainedParameter>& trained,
                             const std::vector<Value>& gradients, std::vector<ParameterSpec>& states);
  // bool[]: whether this run updates; undefined: always. Call after process().
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
