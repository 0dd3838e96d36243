#include "ridgeline/nn/functional.h"

#include <array>
#include <string>
#include <vector>

#include "ridgeline/core/error.h"

namespace ridgeline::nn {
namespace {

using Integers = std::vector<std::int64_t>;

Integers list(const Extent& extent) { return {extent.height, extent.width}; }
Integers list(const Padding& pad) { return {pad.top, pad.bottom, pad.left, pad.right}; }

// Applies an op whose last operands may be empty.
std::vector<Value> apply_all(std::string_view op, std::initializer_list<Value> operands, const Attributes& attributes,
                             const At& at) {
  return operands.begin()->builder(at).apply_all(op, operands, attributes, Location::of(at));
}

Value apply(std::string_view op, std::initializer_list<Value> operands, const Attributes& attributes, const At& at) {
  return apply_all(op, operands, attributes, at).front();
}

}  // namespace

Value conv2d(Value x, Value kernel, Value bias, const Conv2dOptions& options, const At& at) {
  return apply("conv2d", {x, kernel, bias},
               {{"stride", list(options.stride)},
                {"pad", list(options.pad)},
                {"dilation", list(options.dilation)},
                {"groups", options.groups}},
               at);
}

Value dense(Value x, Value weights, Value bias, const At& at) { return apply("dense", {x, weights, bias}, {}, at); }

Value activate(Value x, Activation activation, const At& at) {
  struct Row {
    Activation activation;
    const char* op;
    Attributes attributes;
  };
  static const std::array<Row, 7> rows{{{Activation::relu, "relu", {}},
                                        {Activation::relu6, "relu6", {}},
                                        {Activation::sigmoid, "sigmoid", {}},
                                        {Activation::tanh, "tanh", {}},
                                        {Activation::silu, "silu", {}},
                                        {Activation::gelu, "gelu", {}},
                                        {Activation::gelu_tanh, "gelu", {{"approximate", std::string("tanh")}}}}};
  for (const Row& row : rows) {
    if (row.activation == activation) return x.builder(at).apply_at(Location::of(at), row.op, {x}, row.attributes);
  }
  return x;
}

Value relu(Value x, const At& at) { return apply("relu", {x}, {}, at); }

Value max_pool(Value x, const PoolOptions& options, const At& at) {
  return apply("max_pool", {x},
               {{"kernel", list(options.kernel)}, {"stride", list(options.stride)}, {"pad", list(options.pad)}}, at);
}

Value avg_pool(Value x, const PoolOptions& options, bool count_include_pad, const At& at) {
  return apply("avg_pool", {x},
               {{"kernel", list(options.kernel)},
                {"stride", list(options.stride)},
                {"pad", list(options.pad)},
                {"count_include_pad", count_include_pad}},
               at);
}

Value global_avg_pool(Value x, const At& at) { return apply("reduce_mean", {x}, {{"axes", Integers{1, 2}}}, at); }

Value lrn(Value x, const LrnOptions& options, const At& at) {
  return apply("lrn", {x},
               {{"size", options.size}, {"alpha", options.alpha}, {"beta", options.beta}, {"bias", options.bias}}, at);
}

BatchNormResult batch_norm_train(Value x, Value gamma, Value beta, Value running_mean, Value running_variance,
                                 const BatchNormOptions& options, const At& at) {
  const std::vector<Value> results = apply_all("batch_norm_train", {x, gamma, beta, running_mean, running_variance},
                                               {{"momentum", options.momentum}, {"epsilon", options.epsilon}}, at);
  return {results[0], results[3], results[4]};
}

Value batch_norm_eval(Value x, Value gamma, Value beta, Value mean, Value variance, double epsilon, const At& at) {
  return apply("batch_norm_eval", {x, gamma, beta, mean, variance}, {{"epsilon", epsilon}}, at);
}

Value flatten(Value x, FlattenOrder order, const At& at) {
  return apply("flatten", {x}, {{"order", std::string(order == FlattenOrder::hwc ? "hwc" : "chw")}}, at);
}

Value dropout(Value x, Value step, double keep_prob, std::uint64_t key, const At& at) {
  if (!(keep_prob > 0 && keep_prob <= 1)) {
    throw Error(
        "keep_prob must be a float value or a scalar tensor in the range (0, 1], got " + std::to_string(keep_prob),
        ErrorKind::usage);
  }
  if (keep_prob == 1) return x;
  return apply("dropout", {x, step}, {{"keep_prob", keep_prob}, {"key", static_cast<std::int64_t>(key)}}, at);
}

Value softmax(Value logits, const At& at) { return apply("softmax", {logits}, {}, at); }

CrossEntropyResult softmax_cross_entropy(Value logits, Value labels, Value mask, double label_smoothing, const At& at) {
  if (!(label_smoothing >= 0 && label_smoothing < 1)) {
    throw Error("label_smoothing is " + std::to_string(label_smoothing) + "; it must lie in [0, 1)", ErrorKind::usage);
  }
  const std::vector<Value> results =
      apply_all("softmax_cross_entropy", {logits, labels, mask}, {{"label_smoothing", label_smoothing}}, at);
  return {results[0], results[1]};
}

Value cast(Value x, DType to, const At& at) { return apply("cast", {x}, {{"to", to}}, at); }
Value sum(Value x, const At& at) { return apply("reduce_sum", {x}, {}, at); }
Value mean(Value x, const At& at) { return apply("reduce_mean", {x}, {}, at); }

}  // namespace ridgeline::nn
