#include "ridgeline/nn/layers.h"

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
  const Weights weights =
      declare(context, layer.name, {layer.out, layer.kernel.height, layer.kernel.width, x.shape()[-1]}, layer.bias,
              layer.weight_init, layer.bias_init, layer.suffixes);
  const GraphBuilder::Scope scope(context.builder, layer.name);
  const Value y = conv2d(x, weights.weight, weights.bias, {.stride = layer.stride, .pad = layer.pad}, at);
  return layer.relu ? relu(y, at) : y;
}

Value dense_layer(ModelContext& context, Value x, const DenseLayer& layer, const At& at) {
  const Weights weights = declare(context, layer.name, {layer.out, x.shape()[-1]}, true, layer.weight_init,
                                  layer.bias_init, layer.suffixes);
  const GraphBuilder::Scope scope(context.builder, layer.name);
  const Value y = dense(x, weights.weight, weights.bias, at);
  return layer.relu ? relu(y, at) : y;
}

Value batch_norm_layer(ModelContext& context, Value x, const std::string& name, const At& at) {
  const Shape channels = {x.shape()[-1]};
  const Value gamma = context.parameter(name + ".weight", channels, ones());
  const Value beta = context.parameter(name + ".bias", channels, zeros());
  const Value mean = context.statistic(name + ".running_mean", channels, zeros());
  const Value variance = context.statistic(name + ".running_var", channels, ones());
  const GraphBuilder::Scope scope(context.builder, name);
  if (!context.training) return batch_norm_eval(x, gamma, beta, mean, variance, BatchNormOptions{}.epsilon, at);
  const BatchNormResult result = batch_norm_train(x, gamma, beta, mean, variance, {}, at);
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
