// ridgeline/nn/training_step.h
//
// The whole step as one graph: from a batch of pixels and labels to new parameters (training), to counts and summed
// losses (evaluation), or to probabilities (prediction). Only builds graphs; the result owns only itself.
//
// Parameters and states are arguments by ParameterSpec::name, inputs by the network's names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/infer/names.h"
#include "ridgeline/nn/gradient_rules.h"
#include "ridgeline/nn/models.h"
#include "ridgeline/nn/network.h"
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
  // Of the training step:
  bool label_shares = false;  // labels are f32[N,classes]: a probability for each class, as for mixed images
  // These labels are already smoothed, and their sum is the row's weight: the loss adds no label_smoothing.
  bool smooth_shares = false;
  bool row_mask = false;  // an input mask u8[N]: loss, gradients and batch statistics count rows where it is not 0
};

struct TrainingOptions {
  optim::Optimizer optimizer = optim::Momentum{};
  optim::Schedule schedule = optim::Constant{};
  double weight_decay = 1e-4;
  bool decay_vectors = true;  // false: biases and scales of norms (parameters of rank 1 or less) do not decay
  std::vector<ParameterGroup> groups = {};
  GradientRules gradients = {};
  // Keeps an average of every trained parameter w, a = average * a + (1 - average) * w after each update, which begins
  // as w; 0: none.
  double average = 0;
  // Batch norms compute their statistics over the batches of this many ranks (group "world"): then N ranks with a batch
  // of B train as one with N * B.
  std::int64_t statistics_ranks = 1;
  // Number of ranks (of group "world") whose batches make a step together. With row_mask, each divides its loss by the
  // counted rows of all ranks, so that the mean over the ranks is the mean over these rows; else without effect.
  std::int64_t loss_ranks = 1;
};

struct Step {
  Graph graph;
  // All params and states of the graph: parameters and statistics as the model declares them, then (training) slots,
  // then global_step.
  std::vector<ParameterSpec> parameters;
  // The averages among the parameters: each begins with the value of its parameter.
  struct Average {
    std::string name, parameter;
  };
  std::vector<Average> averages = {};
};

inline constexpr const char* kGlobalStep = "global_step";
inline constexpr const char* kAverageSlot = "average";
// What a training step returns.
inline constexpr const char* kLossResult = "loss";
inline constexpr const char* kTotalLossResult = "total_loss";
inline constexpr const char* kRateResult = "learning_rate";
// The arguments that a batch is bound to.
inline constexpr const char* kImagesInput = infer::kImages;
inline constexpr const char* kLabelsInput = "labels";
inline constexpr const char* kFlipInput = "flip";
inline constexpr const char* kMaskInput = "mask";

// Returns loss, total_loss (with the L2 penalty) and learning_rate, all f32[], in addition to what the network returns.
// Updates parameters, slots, statistics and global_step, the number of steps done. A run whose gradients overflow, or
// that only accumulates, leaves parameters, slots and global_step unchanged.
Step build_training_step(const Network& network, const TrainingOptions& training, std::uint64_t seed = 0);
// Steps that return what Network::evaluate and Network::predict return. An Error for a network without them.
Step build_evaluation_step(const Network& network);
Step build_prediction_step(const Network& network);

// The loss of a batch from its rows' losses f32[N]: their mean, or, if the context has a row_mask, the mean over the
// counted rows of loss_ranks ranks together (0 if there are none). The losses of other rows must be 0.
Value mean_of_rows(const ModelContext& context, Value losses);

// A model that classifies images. Its inputs: images u8[N,H,W,3] with flip u8[N] (training), or images f32[N,H,W,3]
// already normalised; labels i32[N] (training with label_shares f32[N,classes]); in evaluation mask f32[N], in training
// with row_mask u8[N], 0 for rows that do not count. The loss is the mean cross-entropy of the batch, with row_mask
// that of the counted rows (of loss_ranks ranks together); a batch without any has loss 0 and no gradient. An
// evaluation returns loss_sum (no penalty), top_1 and top_5 (hits; top_5 with fewer classes is top-k of all), rows:
// f32[] each, and logits f32[N,classes] for metrics. A prediction returns probabilities and logits, f32[N,classes].
Network image_classifier(const StepOptions& options);

inline Step build_training_step(const StepOptions& options, const TrainingOptions& training) {
  return build_training_step(image_classifier(options), training, options.seed);
}
inline Step build_evaluation_step(const StepOptions& options) {
  return build_evaluation_step(image_classifier(options));
}
inline Step build_prediction_step(const StepOptions& options) {
  return build_prediction_step(image_classifier(options));
}

}  // namespace ridgeline::nn
