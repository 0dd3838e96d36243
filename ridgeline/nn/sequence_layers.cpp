// Layers of sequences and others: norms of samples, tables, attention, transposed convolutions.
#include <string>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"
#include "ridgeline/nn/layers.h"

namespace ridgeline::nn {
namespace {

[[noreturn]] void refuse_layer(const std::string& layer, const std::string& what, const At& at) {
  throw Error("layer " + layer + " " + what + behind_message(at));
}

}  // namespace

Value conv_transpose_layer(ModelContext& context, Value x, const ConvTransposeLayer& layer, const At& at) {
  const ValueType type = x.type(at);
  if (type.shape.rank() != 4)
    refuse_layer(layer.name, "reads " + type.to_string() + "; images [N,H,W,C] are meant", at);
  if (layer.groups < 1 || layer.out % layer.groups != 0 || type.shape[3] % layer.groups != 0) {
    refuse_layer(layer.name,
                 "has groups=" + std::to_string(layer.groups) + ", which does not divide " +
                     std::to_string(type.shape[3]) + " channels and " + std::to_string(layer.out) + " results",
                 at);
  }
  const Shape shape = {type.shape[3], layer.kernel.height, layer.kernel.width, layer.out / layer.groups};
  const Fans fans = fans_of(shape, at);
  const Value weight =
      context.parameter(layer.name + std::string(layer.suffixes.weight), shape, layer.weight_init(fans), at);
  const Value bias = layer.bias ? context.parameter(layer.name + std::string(layer.suffixes.bias), {layer.out},
                                                    layer.bias_init(fans), at)
                                : Value();
  const GraphBuilder::Scope scope(context.builder, layer.name);
  const Value y = conv_transpose2d(x, weight, bias,
                                   {.stride = layer.stride,
                                    .pad = layer.pad,
                                    .output_pad = layer.output_pad,
                                    .dilation = layer.dilation,
                                    .groups = layer.groups},
                                   at);
  return activate(y, layer.activation, at);
}

Value layer_norm_layer(ModelContext& context, Value x, const LayerNormLayer& layer, const At& at) {
  const ValueType type = x.type(at);
  if (layer.axes < 1 || layer.axes > type.shape.rank()) {
    refuse_layer(layer.name, "takes means over " + std::to_string(layer.axes) + " axes of " + type.to_string(), at);
  }
  const Shape shape(std::vector<std::int64_t>(type.shape.end() - layer.axes, type.shape.end()));
  const Value gamma = context.parameter(layer.name + ".weight", shape, ones(), at);
  const Value beta = context.parameter(layer.name + ".bias", shape, zeros(), at);
  const GraphBuilder::Scope scope(context.builder, layer.name);
  return layer_norm(x, gamma, beta, layer.epsilon, at);
}

Value group_norm_layer(ModelContext& context, Value x, const GroupNormLayer& layer, const At& at) {
  const ValueType type = x.type(at);
  if (type.shape.rank() < 2) refuse_layer(layer.name, "reads " + type.to_string() + "; [N,...,C] is meant", at);
  const Shape channels = {type.shape[-1]};
  const Value gamma = context.parameter(layer.name + ".weight", channels, ones(), at);
  const Value beta = context.parameter(layer.name + ".bias", channels, zeros(), at);
  const GraphBuilder::Scope scope(context.builder, layer.name);
  return group_norm(x, gamma, beta, layer.groups, layer.epsilon, at);
}

Value embedding_layer(ModelContext& context, Value indices, const EmbeddingLayer& layer, const At& at) {
  const Value table = context.parameter(layer.name + ".weight", {layer.rows, layer.width}, layer.weight_init, at);
  const GraphBuilder::Scope scope(context.builder, layer.name);
  return gather(table, indices, 0, at);
}

Value attention_layer(ModelContext& context, Value x, const AttentionLayer& layer, Value memory, const At& at) {
  const ValueType type = x.type(at);
  if (type.shape.rank() != 3) refuse_layer(layer.name, "reads " + type.to_string() + "; [N,T,D] is meant", at);
  const std::int64_t rows = type.shape[0], width = type.shape[2], heads = layer.heads;
  if (heads < 1 || width % heads != 0) {
    refuse_layer(layer.name, "has " + std::to_string(heads) + " heads, which do not divide " + type.to_string(), at);
  }
  if (memory.defined()) {
    const Shape& other = memory.type(at).shape;
    if (other.rank() != 3 || other[0] != rows || other[2] != width) {
      refuse_layer(layer.name, "reads keys and values of " + memory.type().to_string() + " beside " + type.to_string(),
                   at);
    }
  }
  const Shape in_shape = {3 * width, width};
  const Value in_weight =
      context.parameter(layer.name + ".in_proj_weight", in_shape, glorot_uniform(fans_of(in_shape, at)), at);
  const Value in_bias = context.parameter(layer.name + ".in_proj_bias", {3 * width}, zeros(), at);
  const auto by_heads = [&](Value v) {  // [N,T,D] as [N,heads,T,D/heads]
    return transpose(reshape(v, {rows, v.shape()[1], heads, width / heads}, at), {0, 2, 1, 3}, at);
  };
  Value y;
  {
    const GraphBuilder::Scope scope(context.builder, layer.name);
    std::vector<Value> parts;
    if (memory.defined()) {
      const std::vector<std::int64_t> sizes = {width, 2 * width};
      const std::vector<Value> w = split(in_weight, 0, sizes, at), b = split(in_bias, 0, sizes, at);
      parts = split(linear(memory, w[1], b[1], at), 2, {width, width}, at);
      parts.insert(parts.begin(), linear(x, w[0], b[0], at));
    } else {
      parts = split(linear(x, in_weight, in_bias, at), 2, {width, width, width}, at);
    }
    for (Value& part : parts) part = by_heads(part);
    Drop drop;
    if (context.training && layer.dropout_keep != 1) {
      drop = [&](Value p) { return dropout_layer(context, p, layer.name + ".dropout", layer.dropout_keep, at); };
    }
    y = attention(parts[0], parts[1], parts[2], drop, at);
    y = reshape(transpose(y, {0, 2, 1, 3}, at), type.shape, at);
  }
  return linear_layer(context, y, {.name = layer.name + ".out_proj", .out = width, .bias_init = zero_init}, at);
}

Value drop_samples_layer(ModelContext& context, Value x, const std::string& name, double keep_prob, const At& at) {
  if (!context.training || keep_prob == 1) return x;
  const Shape shape = x.type(at).shape;
  if (shape.rank() < 1) refuse_layer(name, "reads " + x.type().to_string() + ", which has no samples", at);
  GraphBuilder& builder = context.builder;
  const Location where = Location::of(at);
  const auto repeated = [&](Value v, const Shape& to) {
    return builder.apply_at(where, "broadcast_to", {v}, {{"shape", to.dims()}});
  };
  const Value kept = dropout_layer(context, repeated(builder.constant(1.0), {shape[0]}), name, keep_prob, at);
  std::vector<std::int64_t> column(static_cast<std::size_t>(shape.rank()), 1);
  column[0] = shape[0];
  return x * repeated(reshape(kept, Shape(column), at), shape);
}

}  // namespace ridgeline::nn
