// ridgeline/device/cuda/kernels/launches.h
//
// What our kernels compute, as functions that give launches in their order to a sink: a stream, or the host versions
// (row.h). Addresses are the card's and are not read here. Shapes are those of the ops (graph/op); images are NHWC,
// weights KRSC. `type` is that of images; values of channels are f32. `scratch` has the size given by the function's
// `_scratch`, with undefined contents. No function allocates; results may overwrite operands only where a comment says
// so. Numbers of vectors and elements are below 2^31 (kMostElements); callers refuse more.
#pragma once

#include <array>
#include <limits>
#include <span>

#include "ridgeline/core/dtype.h"
#include "ridgeline/core/function_ref.h"
#include "ridgeline/device/cuda/kernels/row.h"

namespace ridgeline::cuda {

inline constexpr std::int64_t kMostElements = (std::int64_t{1} << 31) - 1;

// ---- copies

// Between f32, bf16 and f16 (loops cast other types).
void cast(LaunchSink sink, DType from_type, const void* from, DType to_type, void* to, std::int64_t elements);
// Words of 4 bytes.
void fill_words(LaunchSink sink, void* to, std::uint32_t word, std::int64_t words);
// [batch, rows, columns] to [batch, columns, rows], elements of 1, 2, 4 or 8 bytes.
void transpose(LaunchSink sink, std::size_t element_bytes, const void* from, void* to, std::int64_t batch,
               std::int64_t rows, std::int64_t columns);
// [rows, from_width] to [rows, to_width]: short rows are padded with zeros.
void resize_rows(LaunchSink sink, DType from_type, const void* from, std::int64_t from_width, DType to_type, void* to,
                 std::int64_t to_width, std::int64_t rows);
// An axis of a strided copy, the outermost first: index i of `to` reads position first + i * step of `from`, or
// `outside` (its lowest bits) outside [0, from_extent). If `every` is more than one, that position is divided by it,
// and one with a remainder is outside. Strides count elements.
struct CopyAxis {
  std::int64_t extent = 1, to_stride = 0;
  std::int64_t first = 0, step = 1, every = 1, from_extent = 1, from_stride = 0;
};
inline constexpr std::size_t kCopyAxes = 6;
void strided_copy(LaunchSink sink, std::size_t element_bytes, const void* from, void* to,
                  std::span<const CopyAxis> axes, std::uint64_t outside = 0);

// y [outer, count, inner] = table [outer, rows, inner] at `indices`; elements have the lowest bits of `outside` where
// an index has no row. The gradient leaves those out.
struct GatherShape {
  std::int64_t outer = 1, rows = 0, count = 0, inner = 1;
};
void gather(LaunchSink sink, const GatherShape& shape, std::size_t element_bytes, std::uint64_t outside,
            const void* table, const std::int32_t* indices, void* y);
void gather_gradient(LaunchSink sink, const GatherShape& shape, DType type, const void* dy, const std::int32_t* indices,
                     void* dtable);

// ---- batch norm

struct BatchNorm {
  DType type = DType::f32;
  std::int64_t rows = 0, channels = 0;  // x is [rows, channels]
  double epsilon = 1e-5;
};
inline constexpr float kNoCeiling = std::numeric_limits<float>::infinity();
struct BatchNormTrain {
  const void* x;
  const float *gamma, *beta, *running_mean, *running_var;
  const void* addend = nullptr;
  bool relu = false;
  float ceiling = kNoCeiling;  // of the relu: min(max(y, 0), ceiling)
  double momentum = 0.1;
  void* y;                                                     // may be x or the addend
  float *mean, *inv_std, *new_running_mean, *new_running_var;  // the new running ones may overwrite the old ones
  void* scratch;
};
std::size_t batch_norm_scratch(const BatchNorm& norm);
void batch_norm_train(LaunchSink sink, const BatchNorm& norm, const BatchNormTrain& a);

struct BatchNormEval {
  const void* x;
  const float *gamma, *beta, *mean, *var;
  bool var_is_inv_std = false;
  const void* addend = nullptr;
  bool relu = false;
  float ceiling = kNoCeiling;
  void* y;  // may be x or the addend
  void* scratch;
};
void batch_norm_eval(LaunchSink sink, const BatchNorm& norm, const BatchNormEval& a);

// Open where the relu's result, stored as `type`, is above 0 and below the ceiling: of_y reads it, of_x computes it.
enum class NormGate { none, of_x, of_y };
struct BatchNormGradient {
  const void *x, *dy;
  const float *gamma, *mean, *inv_std;
  NormGate gate = NormGate::none;
  float ceiling = kNoCeiling;
  const float* beta = nullptr;   // of_x
  const void* y = nullptr;       // of_y
  const void* addend = nullptr;  // added to dy
  void* dx;                      // may be x, dy or the addend unless g is one of them
  float *dgamma, *dbeta;
  void* g = nullptr;  // the gated gradient, if it is a result; may be dy or the addend
  void* scratch;
};
void batch_norm_gradient(LaunchSink sink, const BatchNorm& norm, const BatchNormGradient& a);

// ---- sums

// y[c] = factor * sum over rows of x[row][c]; y is of type `result`.
std::size_t column_sums_scratch(DType type, std::int64_t rows, std::int64_t channels);
void column_sums(LaunchSink sink, DType type, const void* x, std::int64_t rows, std::int64_t channels, double factor,
                 DType result, void* y, void* scratch);
// y [outer, inner] = factor * the sum of x [outer, reduced, inner] (or its maximum; then the factor is 1).
struct Reduction {
  DType type = DType::f32;
  std::int64_t outer = 1, reduced = 1, inner = 1;
  bool maximum = false;
  double factor = 1;
};
std::size_t reduce_scratch(const Reduction& r);
void reduce(LaunchSink sink, const Reduction& r, const void* x, void* y, void* scratch);
// Consecutive steps, the result of each being the x of the next; sums stay in double up to the last one's factor.
std::size_t reduce_scratch(std::span<const Reduction> steps);
void reduce(LaunchSink sink, std::span<const Reduction> steps, const void* x, void* y, void* scratch);

// result = what the ranks' values come to, in the order and with the bits of comm/reduce.h. `others`: those of the
// other ranks, by rank, each `stride` elements behind the one before. `result` may be `own`.
struct RankValues {
  DType type = DType::f32;
  std::int64_t elements = 0, stride = 0;
  int ranks = 2, rank = 0;
  bool mean = false;
};
bool takes_rank_sums(DType type, int ranks);
void rank_sums(LaunchSink sink, const RankValues& values, const void* own, const void* others, void* result);

// ---- norms of samples: layer norm and group norm

// x is [samples, positions, channels]; means are taken over all positions of channels / groups channels.
struct SampleNorm {
  DType type = DType::f32;
  std::int64_t samples = 0, positions = 1, channels = 0, groups = 1;
  double epsilon = 1e-5;
};
std::size_t sample_norm_scratch(const SampleNorm& norm);
// y may be x; mean, inv_std [samples, groups].
void sample_norm(LaunchSink sink, const SampleNorm& norm, const void* x, const float* gamma, const float* beta, void* y,
                 float* mean, float* inv_std, void* scratch);
struct SampleNormGradient {
  const void *x, *dy;
  const float *gamma, *mean, *inv_std;
  void* dx;  // may be dy
  float *dgamma, *dbeta;
  void* scratch;
};
std::size_t sample_norm_gradient_scratch(const SampleNorm& norm);
void sample_norm_gradient(LaunchSink sink, const SampleNorm& norm, const SampleNormGradient& a);

// ---- updates

struct MomentumTensor {
  const float *w, *m, *g;  // m: null without momentum
  float *new_w, *new_m;    // may be w and m
  void* copy = nullptr;    // of new_w in `MomentumUpdate::copy_type`
  std::int64_t elements;
};
struct MomentumUpdate {
  const float* rate;  // a scalar on the card
  const bool* apply = nullptr;
  bool has_momentum = true, nesterov = false;
  double momentum = 0.9, weight_decay = 0;
  DType copy_type = DType::bf16;
  // If not null, gets 0.5 * penalty_factor * the sum of squares of all old w: an L2 penalty.
  float* penalty = nullptr;
  double penalty_factor = 0;
  void* scratch = nullptr;  // of the penalty
};
std::size_t momentum_scratch(std::span<const std::int64_t> elements);
void momentum_update(LaunchSink sink, const MomentumUpdate& update, std::span<const MomentumTensor> tensors);

struct NormTensor {
  const void* x;
  std::int64_t elements;
};
enum class TensorsTotal {
  squares,     // factor * sum of squares
  norm,        // its square root
  clip,        // min(1, limit / norm): 1 if the norm is at most the limit, NaN if it is NaN
  all_finite,  // a bool: whether every element is finite
};
std::size_t tensors_total_scratch(std::span<const std::int64_t> elements);
// Reduces all tensors, which have one type, to one number in `result` (f32, or bool).
void tensors_total(LaunchSink sink, TensorsTotal total, DType type, std::span<const NormTensor> tensors, double factor,
                   double limit, void* result, void* scratch);

// y = factor * the sum of `count` doubles.
void total_of_parts(LaunchSink sink, const double* parts, std::int64_t count, double factor, float* y);

// ---- pools

struct Pool {
  DType type = DType::f32;
  std::int64_t n = 0, h = 0, w = 0, c = 0, oh = 0, ow = 0;
  std::int64_t kh = 1, kw = 1, sh = 1, sw = 1, top = 0, left = 0;
};
void max_pool(LaunchSink sink, const Pool& pool, const void* x, void* y, void* index);
// `gate`: the pooled image y, if the gradient also passes the relu before the pool; null: no gate.
void max_pool_gradient(LaunchSink sink, const Pool& pool, const void* dy, const void* index, const void* gate,
                       void* dx);
void average_pool(LaunchSink sink, const Pool& pool, bool count_padding, const void* x, void* y);
void average_pool_gradient(LaunchSink sink, const Pool& pool, bool count_padding, const void* dy, void* dx);

// ---- losses and metrics

struct Targets {
  const std::int32_t* labels = nullptr;
  const void* shares = nullptr;  // instead of labels, of the logits' type
  const void* mask = nullptr;    // of the logits' type
  double smoothing = 0;
};
// Over the middle axis of [outer, classes, inner].
struct SoftmaxAxis {
  DType type = DType::f32;
  std::int64_t outer = 1, classes = 0, inner = 1;
};
// y may be x.
void softmax(LaunchSink sink, const SoftmaxAxis& axis, const void* x, void* y);
// dx may be y or dy.
void softmax_gradient(LaunchSink sink, const SoftmaxAxis& axis, const void* y, const void* dy, void* dx);
// bad_labels [rows], u32: 1 where a label is not one of the classes; null: not wanted.
void softmax_cross_entropy(LaunchSink sink, DType type, const void* x, const Targets& targets, void* loss,
                           void* probabilities, void* bad_labels, std::int64_t rows, std::int64_t classes);
// dx may be the probabilities.
void softmax_cross_entropy_gradient(LaunchSink sink, DType type, const void* probabilities, const Targets& targets,
                                    const void* dloss, void* dx, std::int64_t rows, std::int64_t classes);
// hits, one f32, of k (0: the first largest).
std::size_t top_k_scratch(std::int64_t rows);
void top_k_accuracy(LaunchSink sink, DType type, const void* x, const std::int32_t* labels, const void* mask,
                    std::int64_t k, float* hits, void* bad_labels, std::int64_t rows, std::int64_t classes,
                    void* scratch);

// ---- dropout, images, local response normalisation

// y may be x.
void dropout(LaunchSink sink, DType type, const void* x, void* y, const std::int64_t* step, std::uint64_t key,
             double keep, std::int64_t elements);

struct ImageTailShape {
  DType type = DType::f32;
  std::int64_t n = 0, h = 0, w = 0;
  std::int64_t channels = 3;  // of the result: 3, or 8 of which five are zero
};
// `table`: value of byte v of channel c at c * 256 + v.
void image_tail(LaunchSink sink, const ImageTailShape& shape, const void* images, const void* flip,
                std::span<const float, 768> table, void* y);
// [n, rows, columns, side * side * 3]: pixel (side * row + i - top, side * column + j - left) at (i * side + j) * 3.
struct ImageBlocks {
  std::int64_t side = 4, top = 0, left = 0, rows = 0, columns = 0;
};
void image_tail_blocks(LaunchSink sink, const ImageTailShape& shape, const ImageBlocks& blocks, const void* images,
                       const void* flip, std::span<const float, 768> table, void* y);

struct Normalisation {
  DType type = DType::f32;
  std::int64_t elements = 0, channels = 0, reach = 2;  // up to kMostReach channels on either side
  double bias = 1, share = 1e-4, beta = 0.75;          // share: alpha / size
};
inline constexpr std::int64_t kMostReach = 16;
void local_response_norm(LaunchSink sink, const Normalisation& norm, const void* x, void* y);
void local_response_norm_gradient(LaunchSink sink, const Normalisation& norm, const void* x, const void* dy, void* dx);

// ---- convolutions and products

struct DirectShape {
  DType type = DType::f32;
  DType result = DType::f32;  // the operands' type, or f32
  std::int64_t n = 0, h = 0, w = 0, c = 0, oh = 0, ow = 0, k = 0, r = 1, s = 1;
  std::int64_t stride_h = 1, stride_w = 1, top = 0, left = 0, dilation_h = 1, dilation_w = 1, groups = 1;
};
struct Epilogue {
  const void* bias = nullptr;
  DType bias_type = DType::f32;  // or the operands' type
  const void* addend = nullptr;  // of the results' type
  bool relu = false;
};
void direct_convolution(LaunchSink sink, const DirectShape& shape, const void* x, const void* w,
                        const Epilogue& epilogue, void* y);
void direct_data_gradient(LaunchSink sink, const DirectShape& shape, const void* dy, const void* w, const void* gate,
                          void* dx);
void direct_weight_gradient(LaunchSink sink, const DirectShape& shape, const void* x, const void* dy, void* dw);

// Whether the faster depthwise kernels take it: 3x3, one filter per channel, no dilation, results of the operands' type
// (weights' gradients also f32), no addend.
bool is_depthwise(const DirectShape& shape);
void depthwise(LaunchSink sink, const DirectShape& shape, const void* x, const void* w, const Epilogue& epilogue,
               void* y);
void depthwise_data_gradient(LaunchSink sink, const DirectShape& shape, const void* dy, const void* w, const void* gate,
                             void* dx);
std::size_t depthwise_weight_gradient_scratch(const DirectShape& shape);
void depthwise_weight_gradient(LaunchSink sink, const DirectShape& shape, const void* x, const void* dy, void* dw,
                               void* scratch);

// Whether the kernels for first layers take it: bf16 or f16, up to 4 channels and 256 filters, a multiple of 8; windows
// up to 11x11, strides up to 4, no dilation; a row of the image fits into shared memory. Results are of the operands'
// type (weights' gradients also f32). No addend; y and dy are aligned to 16 bytes.
bool is_first_layer(const DirectShape& shape);
std::size_t first_layer_scratch(const DirectShape& shape);
void first_layer(LaunchSink sink, const DirectShape& shape, const void* x, const void* w, const Epilogue& epilogue,
                 void* y, void* scratch);
std::size_t first_layer_gradient_scratch(const DirectShape& shape);
void first_layer_gradient(LaunchSink sink, const DirectShape& shape, const void* x, const void* dy, void* dw,
                          void* scratch);

// y[n,k] = sum over c of x[n,c] * w[k,c], and dx[n,c] = sum over k of dy[n,k] * w[k,c].
struct FewRowsShape {
  DType type = DType::bf16;
  DType result = DType::bf16;  // the operands' type, or f32
  std::int64_t rows = 0, inputs = 0, outputs = 0;
};
inline constexpr std::int64_t kMostFewRows = 32;
// Whether the kernels for few rows take it: bf16 or f16, 1 to 32 rows, a multiple of 8 inputs, any outputs. Operands
// and dx are aligned to 16 bytes.
bool is_few_rows(const FewRowsShape& shape);
std::size_t few_rows_scratch(const FewRowsShape& shape);
void few_rows(LaunchSink sink, const FewRowsShape& shape, const void* x, const void* w, const Epilogue& epilogue,
              void* y, void* scratch);
std::size_t few_rows_gradient_scratch(const FewRowsShape& shape);
void few_rows_gradient(LaunchSink sink, const FewRowsShape& shape, const void* dy, const void* w, void* dx,
                       void* scratch);

// y[i][j] = sum over l of a[i*a_row + l*a_column] * b[l*b_row + j*b_column].
struct ProductShape {
  DType type = DType::f32;
  DType result = DType::f32;
  std::int64_t rows = 0, columns = 0, inner = 0;
  std::int64_t a_row = 0, a_column = 1, b_row = 0, b_column = 1;
};
// Products of many matrices; y's are contiguous. For each axis of `extent`, the innermost last, the distances of a's
// and b's matrices in elements.
struct ProductBatch {
  std::int64_t extent = 1, a_step = 0, b_step = 0;
};
inline constexpr std::size_t kProductAxes = 4;
void direct_products(LaunchSink sink, const ProductShape& shape, std::span<const ProductBatch> batch, const void* a,
                     const void* b, void* y);
void direct_product(LaunchSink sink, const ProductShape& shape, const void* a, const void* b, const Epilogue& epilogue,
                    void* y);

}  // namespace ridgeline::cuda
