// ridgeline/nn/training_step.h
//
// The whole step as one graph: from a batch of pixels and labels to new parameters (training), to counts and summed
// losses (evaluation), or to probabilities (prediction). Only builds graphs; the result owns nothing but itself.
//
// Arguments by name: images u8[N,H,W,3] with flip u8[N] (training), or images f32[N,H,W,3] already normalised;
// labels i32[N]; in evaluation mask f32[N], 0 for rows that fill up the batch. Parameters and states by
// ParameterSpec::name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/infer/names.h"
#include "ridgeline/nn/models.h"
#include "ridgeline/nn/parameter_groups.h"
#include "ridgeline/optim/momentum.h"
#include "ridgeline/optim/optimizer.h"
#include "ridgeline/optim/schedules.h"

namespace ridgeline::nn {

enum class ImageForm {
  u8,   // pixels; flip and normalisation are the step's first op (image_tail)
  f32,  // normalised by the data workers
};

struct StepOptions {
  const ModelInfo* model = nullptr;
  ModelOptions model_options = {};
  std::int64_t batch_size = 128;
  std::int64_t image_size = 0;  // 0: the model's own
  ImageForm images = ImageForm::u8;
  double label_smoothing = 0.1;
  std::uint64_t seed = 0;  // of dropout
};

// Where the gradient of the L2 penalty is added; both are the same mathematics.
enum class DecayPlace {
  in_update,    // weight_decay of the update op: no pass over the parameters of its own
  in_gradient,  // total_loss is differentiated as it stands
};

struct TrainingOptions {
  optim::Optimizer optimizer = optim::Momentum{};
  optim::Schedule schedule = optim::Constant{};
  double weight_decay = 1e-4;
  DecayPlace decay = DecayPlace::in_update;  // of optimizers whose decay is coupled; the others have it in the update
  bool decay_vectors = true;  // false: biases and the scales of norms (parameters of rank 1 and less) do not decay
  std::vector<ParameterGroup> groups = {};
};

struct Step {
  Graph graph;
  // All params and states of the graph, in the order of its arguments: parameters and statistics as the model
  // declares them, then (training) slots, then global_step.
  std::vector<ParameterSpec> parameters;
};

inline constexpr const char* kGlobalStep = "global_step";
// The arguments that a batch is bound to.
inline constexpr const char* kImagesInput = infer::kImages;
inline constexpr const char* kLabelsInput = "labels";
inline constexpr const char* kFlipInput = "flip";
inline constexpr const char* kMaskInput = "mask";

// Returns loss (mean cross-entropy of the batch), total_loss (with the L2 penalty) and learning_rate, all f32[].
// Updates parameters, slots, statistics and global_step, the number of steps done.
Step build_training_step(const StepOptions& options, const TrainingOptions& training);
// Returns loss_sum (no penalty), top_1 and top_5 (hits; top_5 with fewer classes is top-k of all), rows: f32[] each.
Step build_evaluation_step(const StepOptions& options);
// Returns probabilities and logits, f32[N,classes].
Step build_prediction_step(const StepOptions& options);

}  // namespace ridgeline::nn
