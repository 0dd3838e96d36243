// ridgeline/nn/functional.h
//
// The ops of the step graph as functions on values. Each adds one op (a few where said), checks its operands, and
// records the caller's line. Images are NHWC, convolution kernels [K,R,S,C/groups], dense weights [out,in].
#pragma once

#include <array>
#include <cstdint>
#include <source_location>

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
// x [N,C], weights [K,C], bias [K] or undefined.
Value dense(Value x, Value weights, Value bias, const At& at = At::current());
// What follows a layer. gelu is that of erf; gelu_tanh its approximation, as some published models have it.
enum class Activation { none, relu, relu6, sigmoid, tanh, silu, gelu, gelu_tanh };
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
// torch.nn.AdaptiveAvgPool2d: output row i is the mean of rows floor(i*H/h) up to ceil((i+1)*H/h). No op where the size
// is right already, one avg_pool where H and W are multiples, else slices, means and pads along each axis.
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

enum class FlattenOrder { hwc, chw };
// [N,H,W,C] -> [N,H*W*C]
Value flatten(Value x, FlattenOrder order, const At& at = At::current());
// Keeps an element with probability keep_prob and divides it by that; key as philox_key() gives it, step i64[].
// keep_prob 1 adds no op.
Value dropout(Value x, Value step, double keep_prob, std::uint64_t key, const At& at = At::current());

Value softmax(Value logits, const At& at = At::current());
struct CrossEntropyResult {
  Value loss;           // f32[N]
  Value probabilities;  // [N,K]
};
// labels i32[N], or f32[N,K]: a share of each class. mask f32[N] may be undefined; rows where it is 0 have loss 0.
// label_smoothing in [0,1).
CrossEntropyResult softmax_cross_entropy(Value logits, Value labels, Value mask, double label_smoothing = 0.0,
                                         const At& at = At::current());

Value cast(Value x, DType to, const At& at = At::current());
// Over all axes.
Value sum(Value x, const At& at = At::current());
Value mean(Value x, const At& at = At::current());

}  // namespace ridgeline::nn
