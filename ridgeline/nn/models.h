// ridgeline/nn/models.h
//
// The models by name, each with what the rest of the program needs to know of it: image size, evaluation transform,
// normalisation, rules of initialisation, smallest image. The table is constant: any thread may read it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/image/normalize.h"
#include "ridgeline/infer/preprocess.h"
#include "ridgeline/nn/module.h"

namespace ridgeline::nn {

struct ModelOptions {
  std::int64_t num_classes = 0;             // 0: the model's own
  std::string init = {};                    // empty: the first of ModelInfo::inits
  std::optional<double> dropout_keep = {};  // empty: the model's own; 1 turns dropout off
  std::optional<bool> final_relu = {};      // `alexnet` only: a relu on the logits, on unless said otherwise
};

using infer::EvaluationTransform;
using infer::ResizeRule;

// A convolution or pool in the chain that reduces the sides of the image.
struct Window {
  int kernel = 1;
  int stride = 1;
  int pad = 0;
};

struct ModelInfo {
  std::string_view name;
  std::string_view description;
  Value (*build)(ModelContext& context, const ModelOptions& options);  // logits f32[N,num_classes]
  std::int64_t classes = 1000;                                         // of the published model
  std::int64_t parameters = 0;  // trainable numbers of the published model at its image size
  int image_size = 224;
  EvaluationTransform evaluation;                     // at image_size; see evaluation_transform for others
  std::array<double, 3> mean = image::kImagenetMean;  // of images in [0,1]
  std::array<double, 3> std = image::kImagenetStd;
  std::vector<std::string_view> inits;  // allowed ModelOptions::init, the default first
  std::string_view init_flag = "init";  // what the user calls that option
  double dropout_keep = 1;              // 1: the model has no dropout
  bool has_final_relu = false;
  std::vector<Window> chain;  // from the image to the last feature map; every output needs at least one position
};

std::span<const ModelInfo> all_models();
// nullptr for an unknown name.
const ModelInfo* find_model(std::string_view name);
// An unknown name is an Error with the nearest one and all that are allowed.
const ModelInfo& model_named(std::string_view name);

// The smallest side for which every output of the chain has a position.
int smallest_image_size(const ModelInfo& model);
// Error "[alexnet] image size 48 is too small: the pooling chain needs at least 63"; likewise for one that is too
// large.
void check_image_size(const ModelInfo& model, std::int64_t image_size);
// Fills in the model's own values; an option that the model does not have, or a value out of range, is an Error.
ModelOptions complete_options(const ModelInfo& model, const ModelOptions& given);
// The model's evaluation transform for another image size: the same share of the image.
EvaluationTransform evaluation_transform(const ModelInfo& model, std::int64_t image_size);

// The scope of the last layer, which computes the logits: "fc", "classifier.6", "dense_2".
std::string head_of(const ModelInfo& model);

// Parameters and statistics of a model, in the order of declaration, without keeping its graph.
std::vector<ParameterSpec> parameters_of(const ModelInfo& model, const ModelOptions& options, std::int64_t image_size);

}  // namespace ridgeline::nn
