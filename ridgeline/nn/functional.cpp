#include "ridgeline/nn/functional.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"

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

Value conv_transpose2d(Value x, Value kernel, Value bias, const ConvTranspose2dOptions& options, const At& at) {
  const Shape &in = x.type(at).shape, &w = kernel.type(at).shape;
  const auto refuse = [&](const std::string& what) { throw Error("[conv_transpose2d] " + what + behind_message(at)); };
  if (in.rank() != 4) refuse("x must be images [N,H,W,C], not " + x.type().to_string());
  if (w.rank() != 4) refuse("the kernel must be [K,R,S,C/groups], not " + kernel.type().to_string());
  if (in[3] != w[0]) {
    refuse("the kernel is " + w.to_string() + ", for " + std::to_string(w[0]) + " channels, and x is " +
           in.to_string());
  }
  const auto extent = [&](std::int64_t own, std::int64_t stride, std::int64_t padding, std::int64_t dilation,
                          std::int64_t window, std::int64_t more) {
    if (more < 0 || more >= std::max<std::int64_t>(stride, 1)) {
      refuse("output_pad is " + std::to_string(more) + "; fewer than the stride, " + std::to_string(stride) +
             ", are meant");
    }
    return (own - 1) * stride - padding + dilation * (window - 1) + more + 1;
  };
  const Shape image = {in[0],
                       extent(in[1], options.stride.height, options.pad.top + options.pad.bottom,
                              options.dilation.height, w[1], options.output_pad.height),
                       extent(in[2], options.stride.width, options.pad.left + options.pad.right, options.dilation.width,
                              w[2], options.output_pad.width),
                       w[3] * options.groups};
  const Value y = apply("conv2d_bwd_data", {x, kernel},
                        {{"stride", list(options.stride)},
                         {"pad", list(options.pad)},
                         {"dilation", list(options.dilation)},
                         {"groups", options.groups},
                         {"input", image.dims()}},
                        at);
  return bias.defined() ? apply("add", {y, bias}, {}, at) : y;
}

Value dense(Value x, Value weights, Value bias, const At& at) { return apply("dense", {x, weights, bias}, {}, at); }

Value linear(Value x, Value weights, Value bias, const At& at) {
  const Shape in = x.type(at).shape;
  if (in.rank() < 1) throw Error("[linear] x is " + x.type().to_string() + ", a scalar" + behind_message(at));
  if (in.rank() == 2) return dense(x, weights, bias, at);
  const std::int64_t columns = in[-1], rows = columns == 0 ? 0 : in.elements() / columns;
  const Value y = dense(reshape(x, {rows, columns}, at), weights, bias, at);
  Shape out = in;
  out[-1] = y.shape()[1];
  return reshape(y, out, at);
}

Value matmul(Value a, Value b, const MatmulOptions& options, const At& at) {
  return apply("matmul", {a, b}, {{"transpose_a", options.transpose_a}, {"transpose_b", options.transpose_b}}, at);
}

// q is scaled, of which there is less than of the products.
Value attention(Value q, Value k, Value v, const Drop& drop, const At& at) {
  const Shape& shape = q.type(at).shape;
  if (shape.rank() < 2) {
    throw Error("[attention] q must be [...,T,d], not " + q.type().to_string() + behind_message(at));
  }
  const Value scaled = apply("scale", {q}, {{"factor", 1 / std::sqrt(static_cast<double>(shape[-1]))}}, at);
  const Value probabilities = softmax(matmul(scaled, k, {.transpose_b = true}, at), -1, at);
  return matmul(drop ? drop(probabilities) : probabilities, v, {}, at);
}

Value gather(Value table, Value indices, std::int64_t axis, const At& at) {
  return apply("gather", {table, indices}, {{"axis", axis}}, at);
}

Value concat(const std::vector<Value>& parts, std::int64_t axis, const At& at) {
  if (parts.empty()) throw Error("[concat] there are no parts" + behind_message(at));
  return parts.front().builder(at).apply_all("concat", parts, {{"axis", axis}}, Location::of(at)).front();
}

std::vector<Value> split(Value x, std::int64_t axis, const Integers& sizes, const At& at) {
  return apply_all("split", {x}, {{"axis", axis}, {"sizes", sizes}}, at);
}

Value reshape(Value x, const Shape& shape, const At& at) {
  if (x.type(at).shape == shape) return x;
  return apply("reshape", {x}, {{"shape", shape.dims()}}, at);
}

Value transpose(Value x, const Integers& permutation, const At& at) {
  return apply("transpose", {x}, {{"permutation", permutation}}, at);
}

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

namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, 8> kActivationNames = {"none", "relu", "relu6", "sigmoid",
                                                              "tanh", "silu", "gelu",  "gelu_tanh"};

}  // namespace

std::span<const std::string_view> activation_names() { return kActivationNames; }

Activation activation_named(std::string_view name) {
  std::string allowed;
  for (std::size_t i = 0; i < kActivationNames.size(); ++i) {
    if (kActivationNames[i] == name) return static_cast<Activation>(i);
    allowed += (i == 0 ? "" : ", ") + std::string(kActivationNames[i]);
  }
  throw Error("unknown activation '" + std::string(name) + "' (allowed: " + allowed + ")", ErrorKind::usage);
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

Value layer_norm(Value x, Value gamma, Value beta, double epsilon, const At& at) {
  return apply("layer_norm", {x, gamma, beta}, {{"epsilon", epsilon}}, at);
}

Value group_norm(Value x, Value gamma, Value beta, std::int64_t groups, double epsilon, const At& at) {
  return apply("group_norm", {x, gamma, beta}, {{"groups", groups}, {"epsilon", epsilon}}, at);
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

Value softmax(Value x, std::int64_t axis, const At& at) { return apply("softmax", {x}, {{"axis", axis}}, at); }

CrossEntropyResult softmax_cross_entropy(Value logits, Value labels, Value mask, double label_smoothing, const At& at) {
  if (!(label_smoothing >= 0 && label_smoothing < 1)) {
    throw Error("label_smoothing is " + std::to_string(label_smoothing) + "; it must lie in [0, 1)", ErrorKind::usage);
  }
  const Shape shape = logits.type(at).shape;
  if (shape.rank() > 2 && shape[-1] > 0) {
    Shape outer(Integers(shape.begin(), shape.end() - 1));
    const std::int64_t classes = shape[-1], rows = outer.elements();
    const auto expect = [&](const char* what, const Value& value, const Shape& meant) {
      if (value.type(at).shape == meant) return;
      throw Error("[softmax_cross_entropy] " + std::string(what) + " is " + value.type().to_string() + " where shape " +
                  meant.to_string() + " is meant" + behind_message(at));
    };
    const bool shares = is_floating(labels.type(at).dtype);
    expect("labels", labels, shares ? shape : outer);
    if (mask.defined()) expect("mask", mask, outer);
    const CrossEntropyResult flat = softmax_cross_entropy(
        reshape(logits, {rows, classes}, at), reshape(labels, shares ? Shape{rows, classes} : Shape{rows}, at),
        mask.defined() ? reshape(mask, {rows}, at) : mask, label_smoothing, at);
    return {reshape(flat.loss, outer, at), reshape(flat.probabilities, shape, at)};
  }
  const std::vector<Value> results =
      apply_all("softmax_cross_entropy", {logits, labels, mask}, {{"label_smoothing", label_smoothing}}, at);
  return {results[0], results[1]};
}

Value cast(Value x, DType to, const At& at) { return apply("cast", {x}, {{"to", to}}, at); }
Value sum(Value x, const At& at) { return apply("reduce_sum", {x}, {}, at); }
Value mean(Value x, const At& at) { return apply("reduce_mean", {x}, {}, at); }

namespace {

Value reduce(const char* op, Value x, const AxesOptions& over, const At& at) {
  const int rank = x.type(at).shape.rank();
  Integers axes = over.axes;
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  if (axes.empty()) return x;
  return apply(op, {x}, {{"axes", axes}, {"keep_dims", over.keep_dims}}, at);
}

}  // namespace

Value sum(Value x, const AxesOptions& over, const At& at) { return reduce("reduce_sum", x, over, at); }
Value mean(Value x, const AxesOptions& over, const At& at) { return reduce("reduce_mean", x, over, at); }
Value max(Value x, const AxesOptions& over, const At& at) { return reduce("reduce_max", x, over, at); }

}  // namespace ridgeline::nn
