// The plans of cuDNN and cuBLASLt on a card: results of small layers beside the reference, equal bits of three runs,
// NaN, and the time of each of the first plans of the models' layers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ridgeline/core/dtype.h"
#include "ridgeline/device/cuda/cublas/functions.h"
#include "ridgeline/device/cuda/cudnn/functions.h"
#include "ridgeline/device/cuda/driver/calls.h"

namespace ridgeline::cuda {

struct PlansOnCard {
  Calls& calls;
  StreamHandle stream;
  const cudnn::Functions& cudnn;
  const cublas::Functions& cublas;
  std::function<void(const std::string& line)> say;
  std::function<double()> seconds;  // since any moment
};

// Small layers; the number of those that fail. A line each.
int check_small_layers(const PlansOnCard& card);

struct TimedModel {
  std::string model;
  std::int64_t batch;
};
// The first `plans` plans of every layer of the models, until `budget` seconds are used up: a line a layer, then the
// sums a model of the heuristics' first plans, the fastest ones and the roofline.
void time_model_layers(const PlansOnCard& card, const std::vector<TimedModel>& models, const std::vector<DType>& types,
                       bool tf32, int plans, double budget);

}  // namespace ridgeline::cuda
