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

// The rules by name, for callers that take them as text or from another language.
struct InitEntry {
  std::string_view name;
  std::string_view line;
  InitRule rule;
};
std::span<const InitEntry> init_rules();
// An Error (usage) for an unknown name lists all.
InitRule init_named(std::string_view name);

// The names of parameters after the layer's name.
struct Suffixes {
  std::string_view weight;
  std::string_view bias;
};
inline constexpr Suffixes kTorchSuffixes = {".weight", ".bias"};
inline constexpr Suffixes kTensorFlowSuffixes = {"/kernel", "/bias"};

// Scale 1 and shift 0 at first; training uses the statistics of the batch and updates the running ones.
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

struct ConvTransposeLayer {
  std::string name;
  std::int64_t out = 0;
  Extent kernel = 2;
  Extent stride = 1;
  Padding pad = 0;
  Extent output_pad = 0;
  Extent dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  Activation activation = Activation::none;
  InitRule weight_init = scaled_uniform;  // of the fans as PyTorch counts them: fan-in is out * R * S
  InitRule bias_init = scaled_uniform;
  Suffixes suffixes = kTorchSuffixes;
};
// The weight is [in,R,S,out/groups].
Value conv_transpose_layer(ModelContext& context, Value x, const ConvTransposeLayer& layer,
                           const At& at = At::current());

struct DenseLayer {
  std::string name;
  std::int64_t out = 0;
  bool bias = true;
  Activation activation = Activation::none;
  InitRule weight_init = scaled_uniform;
  InitRule bias_init = scaled_uniform;
  Suffixes suffixes = kTorchSuffixes;
};
Value dense_layer(ModelContext& context, Value x, const DenseLayer& layer, const At& at = At::current());
// The same over the last axis of x of any rank.
Value linear_layer(ModelContext& context, Value x, const DenseLayer& layer, const At& at = At::current());

// Scale 1 and shift 0 at first.
struct LayerNormLayer {
  std::string name;
  int axes = 1;  // the number of last axes of x, which gamma and beta have
  double epsilon = 1e-5;
};
Value layer_norm_layer(ModelContext& context, Value x, const LayerNormLayer& layer, const At& at = At::current());
struct GroupNormLayer {
  std::string name;
  std::int64_t groups = 32;
  double epsilon = 1e-5;
};
Value group_norm_layer(ModelContext& context, Value x, const GroupNormLayer& layer, const At& at = At::current());

// Rows of a table [rows,width] by index.
struct EmbeddingLayer {
  std::string name;
  std::int64_t rows = 0, width = 0;
  Init weight_init = normal(1);
};
// indices i32 [...], y [...,width]
Value embedding_layer(ModelContext& context, Value indices, const EmbeddingLayer& layer, const At& at = At::current());

// torch.nn.MultiheadAttention with batch_first, in its names: in_proj_weight [3D,D] of queries, keys and values,
// out_proj. The number of heads divides D.
struct AttentionLayer {
  std::string name;
  std::int64_t heads = 1;
  double dropout_keep = 1;  // of the probabilities, in training
};
// x [N,T,D]; keys and values are from `memory` [N,S,D], or from x if it is undefined. y [N,T,D]
Value attention_layer(ModelContext& context, Value x, const AttentionLayer& layer, Value memory = {},
                      const At& at = At::current());

// Drops only in training. The mask depends on (seed, name), so each dropout of a model needs its own name.
Value dropout_layer(ModelContext& context, Value x, const std::string& name, double keep_prob,
                    const At& at = At::current());

// Drops whole samples, only in training, and divides the others by keep_prob: for a branch that is added to its input
// (stochastic depth, Huang et al. 2016).
Value drop_samples_layer(ModelContext& context, Value x, const std::string& name, double keep_prob,
                         const At& at = At::current());

}  // namespace ridgeline::nn
