#include "ridgeline/nn/layers.h"

#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"
#include "ridgeline/core/random.h"
#include "ridgeline/nn/gradient_rules.h"
#include "ridgeline/nn/layer_calls.h"

namespace ridgeline::nn {
namespace {

std::string joined(const std::string& name, std::string_view suffix) { return name + std::string(suffix); }

// The last extent of a layer's operand.
std::int64_t channels_of(const Value& x, const std::string& layer, const At& at) {
  const ValueType& type = x.type(at);
  if (type.shape.rank() > 0) return type.shape[-1];
  throw Error("layer " + layer + " reads " + type.to_string() + ", a scalar: images or rows of numbers are meant" +
              behind_message(at));
}

struct Weights {
  Value weight;
  Value bias;  // undefined if the layer has none
};

Weights declare(ModelContext& context, const std::string& name, Shape shape, bool bias, InitRule weight_init,
                InitRule bias_init, const Suffixes& suffixes, const At& at) {
  const Fans fans = fans_of(shape, at);
  const std::int64_t out = shape[0];
  Weights weights;
  weights.weight = context.parameter(joined(name, suffixes.weight), std::move(shape), weight_init(fans), at);
  if (bias) weights.bias = context.parameter(joined(name, suffixes.bias), {out}, bias_init(fans), at);
  return weights;
}

}  // namespace

namespace {

constexpr InitEntry kInitRules[] = {
    {"scaled_uniform", "U(+-sqrt(1 / fan_in)), PyTorch's default", scaled_uniform},
    {"he_uniform", "U(+-sqrt(6 / fan_in)), He et al. 2015", he_uniform},
    {"he_normal_fan_in", "N(0, sqrt(2 / fan_in))", he_normal_fan_in},
    {"he_normal_fan_out", "N(0, sqrt(2 / fan_out))", he_normal_fan_out},
    {"glorot_uniform", "U(+-sqrt(6 / (fan_in + fan_out))), Glorot and Bengio 2010", glorot_uniform},
    {"zeros", "0", zero_init},
};

}  // namespace

std::span<const InitEntry> init_rules() { return kInitRules; }

InitRule init_named(std::string_view name) {
  std::string allowed;
  for (const InitEntry& entry : kInitRules) {
    if (entry.name == name) return entry.rule;
    allowed += (allowed.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw Error("unknown rule of initialisation '" + std::string(name) + "' (allowed: " + allowed + ")",
              ErrorKind::usage);
}

Value conv_layer(ModelContext& context, Value x, const ConvLayer& layer, const At& at) {
  const std::int64_t channels = channels_of(x, layer.name, at);
  if (layer.groups < 1 || channels % layer.groups != 0) {
    throw Error("[conv_layer] " + layer.name + ": the image has " + std::to_string(channels) +
                " channels, which groups=" + std::to_string(layer.groups) + " does not divide" + behind_message(at));
  }
  const Weights weights =
      declare(context, layer.name, {layer.out, layer.kernel.height, layer.kernel.width, channels / layer.groups},
              layer.bias, layer.weight_init, layer.bias_init, layer.suffixes, at);
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

namespace {

Weights declare_dense(ModelContext& context, const Value& x, const DenseLayer& layer, const At& at) {
  return declare(context, layer.name, {layer.out, channels_of(x, layer.name, at)}, layer.bias, layer.weight_init,
                 layer.bias_init, layer.suffixes, at);
}

}  // namespace

Value dense_layer(ModelContext& context, Value x, const DenseLayer& layer, const At& at) {
  const Weights weights = declare_dense(context, x, layer, at);
  const GraphBuilder::Scope scope(context.builder, layer.name);
  return activate(dense(x, weights.weight, weights.bias, at), layer.activation, at);
}

Value linear_layer(ModelContext& context, Value x, const DenseLayer& layer, const At& at) {
  const Weights weights = declare_dense(context, x, layer, at);
  const GraphBuilder::Scope scope(context.builder, layer.name);
  return activate(linear(x, weights.weight, weights.bias, at), layer.activation, at);
}

namespace {

// Batch norm over the batches of all ranks, which have equal sizes: the means of the ranks' means, then of their mean
// squares around that.
BatchNormResult batch_norm_over_ranks(Value x, Value gamma, Value beta, Value mean, Value variance,
                                      const BatchNormLayer& layer, std::int64_t ranks, const At& at) {
  GraphBuilder& builder = x.builder();
  const Location where = Location::of(at);
  std::vector<std::int64_t> axes;
  for (int axis = 0; axis + 1 < x.shape().rank(); ++axis) axes.push_back(axis);
  const auto over_ranks = [&](Value v) {
    const Value own = builder.apply_at(where, "reduce_mean", {v}, {{"axes", axes}});
    return builder.apply_at(where, "all_reduce", {own}, {{"ranks", ranks}, {"reduction", std::string("mean")}});
  };
  const Value batch_mean = over_ranks(x);
  const Value centred = x - batch_mean;
  const Value batch_variance = over_ranks(centred * centred);
  const Value y = centred / builder.apply_at(where, "sqrt", {batch_variance + layer.epsilon}) * gamma + beta;
  const auto rows = static_cast<double>(x.shape().elements() / x.shape()[-1] * ranks);
  const double unbiased = rows > 1 ? rows / (rows - 1) : 1;
  const auto moved = [&](Value running, Value batch, double factor) {
    return running * (1 - layer.momentum) + batch * (layer.momentum * factor);
  };
  BatchNormResult result;
  result.y = y;
  result.running_mean = moved(mean, batch_mean, 1);
  result.running_variance = moved(variance, batch_variance, unbiased);
  return result;
}

// Batch norm over the rows that the mask counts, of all ranks. Composed of sums by row, which are short: only those are
// multiplied by the mask. Rows that do not count are normalised by the others' statistics; their results are not read.
BatchNormResult batch_norm_of_rows(const ModelContext& context, Value x, Value gamma, Value beta, Value mean,
                                   Value variance, const BatchNormLayer& layer, const At& at) {
  GraphBuilder& builder = x.builder();
  const Location where = Location::of(at);
  const std::int64_t rows = x.shape()[0], channels = x.shape()[-1];
  const std::int64_t positions = x.shape().elements() / (rows * channels);
  std::vector<std::int64_t> inner;
  for (int axis = 1; axis + 1 < x.shape().rank(); ++axis) inner.push_back(axis);
  const auto over_ranks = [&](Value v) {
    if (context.statistics_ranks == 1) return v;
    return builder.apply_at(where, "all_reduce", {v},
                            {{"ranks", context.statistics_ranks}, {"reduction", std::string("sum")}});
  };
  const Value mask =
      builder.apply_at(where, "reshape", {context.row_mask}, {{"shape", std::vector<std::int64_t>{rows, 1}}});
  const auto at_least_one = [&](Value v) { return builder.apply_at(where, "maximum", {v, builder.constant(1.0)}); };
  const Value count = over_ranks(sum(mask)) * static_cast<double>(positions);
  const auto mean_of = [&](Value v) {
    const Value by_row = inner.empty() ? v : builder.apply_at(where, "reduce_sum", {v}, {{"axes", inner}});
    const Value own = builder.apply_at(where, "reduce_sum", {by_row * mask}, {{"axes", std::vector<std::int64_t>{0}}});
    return over_ranks(own) / at_least_one(count);
  };
  const Value batch_mean = mean_of(x);
  const Value centred = x - batch_mean;
  const Value batch_variance = mean_of(centred * centred);
  // Without any row that counts the running values stay as they are.
  const Value share = builder.apply_at(where, "minimum", {count, builder.constant(1.0)}) * layer.momentum;
  const Value unbiased = batch_variance * (at_least_one(count) / at_least_one(count - 1.0));
  BatchNormResult result;
  result.y = centred / builder.apply_at(where, "sqrt", {batch_variance + layer.epsilon}) * gamma + beta;
  result.running_mean = mean + (batch_mean - mean) * share;
  result.running_variance = variance + (unbiased - variance) * share;
  return result;
}

// A statistic after the earlier calls of this layer, to which this call adds.
Value newest(const Value& statistic) {
  const LayerCalls* calls = LayerCalls::current();
  return calls == nullptr ? statistic : calls->newest(statistic);
}

void move_statistic(const ModelContext& context, const Value& statistic, const Value& next) {
  if (LayerCalls* calls = LayerCalls::current()) return calls->move(statistic, next);
  context.builder.update(statistic, next);
}

}  // namespace

Value batch_norm_layer(ModelContext& context, Value x, const BatchNormLayer& layer, const At& at) {
  const Shape channels = {channels_of(x, layer.name, at)};
  const Value gamma = context.parameter(layer.name + ".weight", channels, ones(), at);
  const Value beta = context.parameter(layer.name + ".bias", channels, zeros(), at);
  const Value mean = context.statistic(layer.name + ".running_mean", channels, zeros(), false, at);
  const Value variance = context.statistic(layer.name + ".running_var", channels, ones(), true, at);
  if (context.training && context.row_mask.defined()) {
    const GraphBuilder::Scope exact(context.builder, kExactScope);  // sums of squares, whatever the mode
    const GraphBuilder::Scope scope(context.builder, layer.name);
    const BatchNormResult result =
        batch_norm_of_rows(context, x, gamma, beta, newest(mean), newest(variance), layer, at);
    move_statistic(context, mean, result.running_mean);
    move_statistic(context, variance, result.running_variance);
    return result.y;
  }
  const GraphBuilder::Scope scope(context.builder, layer.name);
  if (!context.training) return batch_norm_eval(x, gamma, beta, mean, variance, layer.epsilon, at);
  const Value newest_mean = newest(mean), newest_variance = newest(variance);
  const BatchNormResult result =
      context.statistics_ranks > 1
          ? batch_norm_over_ranks(x, gamma, beta, newest_mean, newest_variance, layer, context.statistics_ranks, at)
          : batch_norm_train(x, gamma, beta, newest_mean, newest_variance,
                             {.momentum = layer.momentum, .epsilon = layer.epsilon}, at);
  move_statistic(context, mean, result.running_mean);
  move_statistic(context, variance, result.running_variance);
  return result.y;
}

Value dropout_layer(ModelContext& context, Value x, const std::string& name, double keep_prob, const At& at) {
  if (!context.training || keep_prob == 1) return x;
  // Each call has its own mask.
  const LayerCalls* calls = LayerCalls::current();
  const int earlier = calls == nullptr ? 0 : calls->earlier;
  const std::string drawn = earlier == 0 ? name : name + "/" + std::to_string(earlier + 1);
  const PhiloxKey key = philox_key(context.seed, drawn);
  context.builder.name_next(name);
  return dropout(x, context.step, keep_prob, key.k0 | std::uint64_t{key.k1} << 32, at);
}

}  // namespace ridgeline::nn
