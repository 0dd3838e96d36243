// ridgeline/nn/functional.h
//
// The ops of the step graph as functions on values. Each adds one op (a few where said), checks its operands, and
// records the caller's line. Images are NHWC, convolution kernels [K,R,S,C/groups], dense weights [out,in].
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <source_location>
#include <span>
#include <string_view>
#include <vector>

#include "ridgeline/graph/ir/builder.h"

namespace ridgeline::nn {

// Height and width; one number means both.
struct Extent {
  std::int64_t height = 1;
  std::int64_t width = 1;
  Extent(std::int64_t both) : height(both), width(both) {}  // NOLINT: implicit on purpose
  Extent(std::int64_t h, std::int64_t w) : height(h), width(w) {}
};

// Zeros around an image, in pixels; one number means all four sides.
struct Padding {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
  Padding(std::int64_t all) : top(all), bottom(all), left(all), right(all) {}  // NOLINT: implicit on purpose
  Padding(std::int64_t t, std::int64_t b, std::int64_t l, std::int64_t r) : top(t), bottom(b), left(l), right(r) {}
};

using At = std::source_location;

struct Conv2dOptions {
  Extent stride = 1;
  Padding pad = 0;
  Extent dilation = 1;
  std::int64_t groups = 1;
};
// bias may be undefined.
Value conv2d(Value x, Value kernel, Value bias, const Conv2dOptions& options = {}, const At& at = At::current());
struct ConvTranspose2dOptions {
  Extent stride = 1;
  Padding pad = 0;        // the padding of the corresponding convolution; here it is cut off
  Extent output_pad = 0;  // extra rows and columns at the end, fewer than the stride
  Extent dilation = 1;
  std::int64_t groups = 1;
};
// torch.nn.functional.conv_transpose2d: x [N,h,w,K], kernel [K,R,S,C/groups], bias [C] or undefined, y [N,H,W,C] with
// H = (h - 1) * stride - top - bottom + dilation * (R - 1) + output_pad + 1. The op is conv2d's gradient with respect
// to its image.
Value conv_transpose2d(Value x, Value kernel, Value bias, const ConvTranspose2dOptions& options = {},
                       const At& at = At::current());
// x [N,C], weights [K,C], bias [K] or undefined.
Value dense(Value x, Value weights, Value bias, const At& at = At::current());
// The same over the last axis of x [...,C], with any number of axes before it (reshapes around dense).
Value linear(Value x, Value weights, Value bias, const At& at = At::current());

struct MatmulOptions {
  bool transpose_a = false, transpose_b = false;  // the last two axes are transposed
};
// a [...,M,K], b [...,K,N], y [...,M,N]; the axes before them broadcast as in NumPy.
Value matmul(Value a, Value b, const MatmulOptions& options = {}, const At& at = At::current());
// Scaled dot products, softmax(q k^T / sqrt(d)) v: q [...,T,d], k and v [...,S,d], y [...,T,d]. `drop`, if given, is
// applied to the probabilities before they are multiplied by v.
using Drop = std::function<Value(Value probabilities)>;
Value attention(Value q, Value k, Value v, const Drop& drop = {}, const At& at = At::current());
// Rows of a table [V,...] by index: indices i32 [...]. An index outside the table is an Error of the step.
Value gather(Value table, Value indices, std::int64_t axis = 0, const At& at = At::current());

// All have one type and the same extents, except along `axis`. Axes are counted from 0, or from the last one, -1.
Value concat(const std::vector<Value>& parts, std::int64_t axis, const At& at = At::current());
// Pieces of these sizes, which add up to the extent.
std::vector<Value> split(Value x, std::int64_t axis, const std::vector<std::int64_t>& sizes,
                         const At& at = At::current());
Value reshape(Value x, const Shape& shape, const At& at = At::current());
// Axis i of y is axis permutation[i] of x.
Value transpose(Value x, const std::vector<std::int64_t>& permutation, const At& at = At::current());
// The activation after a layer. gelu is computed by erf; gelu_tanh is its approximation, which some published models
// use.
enum class Activation { none, relu, relu6, sigmoid, tanh, silu, gelu, gelu_tanh };
// The activation of that name; for another an Error (usage) lists all.
Activation activation_named(std::string_view name);
std::span<const std::string_view> activation_names();
Value activate(Value x, Activation activation, const At& at = At::current());
Value relu(Value x, const At& at = At::current());

struct PoolOptions {
  Extent kernel = 2;
  Extent stride = 2;
  Padding pad = 0;
};
Value max_pool(Value x, const PoolOptions& options, const At& at = At::current());
Value avg_pool(Value x, const PoolOptions& options, bool count_include_pad = true, const At& at = At::current());
// [N,H,W,C] -> [N,C]
Value global_avg_pool(Value x, const At& at = At::current());
// torch.nn.AdaptiveAvgPool2d: output row i is the mean of rows floor(i*H/h) up to ceil((i+1)*H/h). No op if the size is
// already right, one avg_pool if H and W are multiples, else slices, means and pads along each axis.
Value adaptive_avg_pool(Value x, Extent size, const At& at = At::current());

struct LrnOptions {
  std::int64_t size = 5;
  double alpha = 1e-4;
  double beta = 0.75;
  double bias = 1.0;
};
Value lrn(Value x, const LrnOptions& options = {}, const At& at = At::current());

struct BatchNormOptions {
  double momentum = 0.1;
  double epsilon = 1e-5;
};
struct BatchNormResult {
  Value y;
  Value running_mean;  // the next versions of the statistics
  Value running_variance;
};
BatchNormResult batch_norm_train(Value x, Value gamma, Value beta, Value running_mean, Value running_variance,
                                 const BatchNormOptions& options = {}, const At& at = At::current());
Value batch_norm_eval(Value x, Value gamma, Value beta, Value mean, Value variance, double epsilon = 1e-5,
                      const At& at = At::current());

// Normalises over the last axes of x, those that gamma and beta have.
Value layer_norm(Value x, Value gamma, Value beta, double epsilon = 1e-5, const At& at = At::current());
// Normalises over all positions of each group of channels of each sample: x [N,...,C], gamma and beta [C].
Value group_norm(Value x, Value gamma, Value beta, std::int64_t groups, double epsilon = 1e-5,
                 const At& at = At::current());

enum class FlattenOrder { hwc, chw };
// [N,H,W,C] -> [N,H*W*C]
Value flatten(Value x, FlattenOrder order, const At& at = At::current());
// Keeps an element with probability keep_prob and divides it by that; key as philox_key() gives it, step i64[].
// keep_prob 1 adds no op.
Value dropout(Value x, Value step, double keep_prob, std::uint64_t key, const At& at = At::current());

Value softmax(Value x, std::int64_t axis = -1, const At& at = At::current());
struct CrossEntropyResult {
  Value loss;           // f32[N]
  Value probabilities;  // [N,K]
};
// labels i32[N], or f32[N,K]: a probability for each class. mask f32[N] may be undefined; rows where it is 0 have loss
// 0. label_smoothing in [0,1). N may be several axes, such as those of pixels: logits [N,H,W,K], labels i32[N,H,W],
// loss [N,H,W].
CrossEntropyResult softmax_cross_entropy(Value logits, Value labels, Value mask, double label_smoothing = 0.0,
                                         const At& at = At::current());

Value cast(Value x, DType to, const At& at = At::current());
// Over all axes.
Value sum(Value x, const At& at = At::current());
Value mean(Value x, const At& at = At::current());
// Reduction over some axes, which are removed, or kept with extent 1.
struct AxesOptions {
  std::vector<std::int64_t> axes;  // from 0, or from the last one, -1
  bool keep_dims = false;
};
Value sum(Value x, const AxesOptions& over, const At& at = At::current());
Value mean(Value x, const AxesOptions& over, const At& at = At::current());
Value max(Value x, const AxesOptions& over, const At& at = At::current());

}  // namespace ridgeline::nn
