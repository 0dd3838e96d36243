// ridgeline/nn/layers.h
//
// Ops together with the parameters they own. A layer declares its parameters in the ModelContext as
// <name><suffix of weight or bias> and names its ops "<name>/...". Rules of initialisation are functions of the fans.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ridgeline/nn/functional.h"
#include "ridgeline/nn/module.h"

namespace ridgeline::nn {

using InitRule = Init (*)(const Fans&);
inline Init zero_init(const Fans&) { return zeros(); }
inline Init he_normal_fan_in(const Fans& fans) { return he_normal(fans.in); }
inline Init he_normal_fan_out(const Fans& fans) { return he_normal(fans.out); }

// How parameters are called behind the layer's name.
struct Suffixes {
  std::string_view weight;
  std::string_view bias;
};
inline constexpr Suffixes kTorchSuffixes = {".weight", ".bias"};
inline constexpr Suffixes kTensorFlowSuffixes = {"/kernel", "/bias"};

// Scale 1 and shift 0 at first; statistics of the batch in training, which also moves the running ones.
struct BatchNormLayer {
  std::string name;
  double momentum = 0.1;  // weight of the new batch in the running statistics
  double epsilon = 1e-5;
};
Value batch_norm_layer(ModelContext& context, Value x, const BatchNormLayer& layer, const At& at = At::current());

struct ConvLayer {
  std::string name;
  std::int64_t out = 0;
  Extent kernel = 3;
  Extent stride = 1;
  Padding pad = 0;
  Extent dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  std::optional<BatchNormLayer> norm = {};  // between the convolution and its activation
  Activation activation = Activation::none;
  InitRule weight_init = scaled_uniform;
  InitRule bias_init = scaled_uniform;  // of the fans of the kernel
  Suffixes suffixes = kTorchSuffixes;
};
Value conv_layer(ModelContext& context, Value x, const ConvLayer& layer, const At& at = At::current());

struct DenseLayer {
  std::string name;
  std::int64_t out = 0;
  Activation activation = Activation::none;
  InitRule weight_init = scaled_uniform;
  InitRule bias_init = scaled_uniform;
  Suffixes suffixes = kTorchSuffixes;
};
Value dense_layer(ModelContext& context, Value x, const DenseLayer& layer, const At& at = At::current());

// Drops in training only. The mask is keyed by (seed, name), so each dropout of a model needs a name of its own.
Value dropout_layer(ModelContext& context, Value x, const std::string& name, double keep_prob,
                    const At& at = At::current());

}  // namespace ridgeline::nn
