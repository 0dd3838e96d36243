#include "ridgeline/nn/layers.h"

#include "ridgeline/core/error.h"
#include "ridgeline/core/random.h"

namespace ridgeline::nn {
namespace {

std::string joined(const std::string& name, std::string_view suffix) { return name + std::string(suffix); }

struct Weights {
  Value weight;
  Value bias;  // undefined if the layer has none
};

Weights declare(ModelContext& context, const std::string& name, Shape shape, bool bias, InitRule weight_init,
                InitRule bias_init, const Suffixes& suffixes) {
  const Fans fans = fans_of(shape);
  const std::int64_t out = shape[0];
  Weights weights;
  weights.weight = context.parameter(joined(name, suffixes.weight), std::move(shape), weight_init(fans));
  if (bias) weights.bias = context.parameter(joined(name, suffixes.bias), {out}, bias_init(fans));
  return weights;
}

}  // namespace

Value conv_layer(ModelContext& context, Value x, const ConvLayer& layer, const At& at) {
  const std::int64_t channels = x.shape()[-1];
  if (layer.groups < 1 || channels % layer.groups != 0) {
    throw Error("[conv_layer] " + layer.name + ": the image has " + std::to_string(channels) +
                " channels, which groups=" + std::to_string(layer.groups) + " does not divide");
  }
  const Weights weights =
      declare(context, layer.name, {layer.out, layer.kernel.height, layer.kernel.width, channels / layer.groups},
              layer.bias, layer.weight_init, layer.bias_init, layer.suffixes);
  Value y;
  {
    const GraphBuilder::Scope scope(context.builder, layer.name);
    y = conv2d(x, weights.weight, weights.bias,
               {.stride = layer.stride, .pad = layer.pad, .dilation = layer.dilation, .groups = layer.groups}, at);
  }
  if (layer.norm) y = batch_norm_layer(context, y, *layer.norm, at);
  const GraphBuilder::Scope scope(context.builder, layer.name);
  return activate(y, layer.activation, at);
}

Value dense_layer(ModelContext& context, Value x, const DenseLayer& layer, const At& at) {
  const Weights weights = declare(context, layer.name, {layer.out, x.shape()[-1]}, true, layer.weight_init,
                                  layer.bias_init, layer.suffixes);
  const GraphBuilder::Scope scope(context.builder, layer.name);
  return activate(dense(x, weights.weight, weights.bias, at), layer.activation, at);
}

Value batch_norm_layer(ModelContext& context, Value x, const BatchNormLayer& layer, const At& at) {
  const Shape channels = {x.shape()[-1]};
  const Value gamma = context.parameter(layer.name + ".weight", channels, ones());
  const Value beta = context.parameter(layer.name + ".bias", channels, zeros());
  const Value mean = context.statistic(layer.name + ".running_mean", channels, zeros());
  const Value variance = context.statistic(layer.name + ".running_var", channels, ones());
  const GraphBuilder::Scope scope(context.builder, layer.name);
  if (!context.training) return batch_norm_eval(x, gamma, beta, mean, variance, layer.epsilon, at);
  const BatchNormResult result =
      batch_norm_train(x, gamma, beta, mean, variance, {.momentum = layer.momentum, .epsilon = layer.epsilon}, at);
  context.builder.update(mean, result.running_mean);
  context.builder.update(variance, result.running_variance);
  return result.y;
}

Value dropout_layer(ModelContext& context, Value x, const std::string& name, double keep_prob, const At& at) {
  if (!context.training || keep_prob == 1) return x;
  const PhiloxKey key = philox_key(context.seed, name);
  context.builder.name_next(name);
  return dropout(x, context.step, keep_prob, key.k0 | std::uint64_t{key.k1} << 32, at);
}

}  // namespace ridgeline::nn
