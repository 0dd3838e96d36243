#include <cmath>
#include <type_traits>

#include "ridgeline/device/cpu/norm/batch_norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/norm/batch_norm.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "hwy/cache_control.h"
#include "ridgeline/device/cpu/for_lanes-inl.h"
#include "ridgeline/device/cpu/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows that are summed in f32 before the sums are widened: 32 rows of four vectors stay in the first-level cache.
constexpr std::int64_t kBlockRows = 32;
constexpr int kMostLanes = 4 * HWY_LANES(float);
// How many elements ahead are prefetched.
constexpr std::int64_t kAhead = 1024;
// Elements of a vector that is written with non-temporal stores.
template <class T>
constexpr auto kStreamed = static_cast<std::int64_t>(HWY_LANES(float) * sizeof(float) / sizeof(T));

// Results of a block for some channels: means, sums of the differences from these, and sums of their squares.
struct BlockMoments {
  const float* means;
  const float* rests;
  const float* squares;
};

// Joins a block of `count` rows to the moments of those before it (add_moments).
HWY_NOINLINE void join_block(const BlockMoments& block, std::int64_t channels, double count, double share,
                             double weight, double* HWY_RESTRICT mean, double* HWY_RESTRICT deviation) {
  const double inverse = 1 / count;
  for_lanes<double>(channels, [&](auto d, std::int64_t i) HWY_ATTR {
    const hn::Rebind<float, decltype(d)> narrow;
    const auto widened = [&](const float* from) HWY_ATTR { return hn::PromoteTo(d, hn::LoadU(narrow, from + i)); };
    const auto left = hn::Mul(widened(block.rests), hn::Set(d, inverse));  // of the mean, that its rounding lost
    const auto seen = hn::LoadU(d, mean + i);
    const auto delta = hn::Sub(hn::Add(widened(block.means), left), seen);
    hn::StoreU(hn::MulAdd(delta, hn::Set(d, share), seen), d, mean + i);
    const auto within = hn::NegMulAdd(hn::Mul(left, left), hn::Set(d, count), widened(block.squares));
    const auto more = hn::MulAdd(hn::Mul(delta, delta), hn::Set(d, weight), within);
    hn::StoreU(hn::Add(hn::LoadU(d, deviation + i), more), d, deviation + i);
  });
}

// Mean and sum of squared deviations of each channel over rows [0, rows) of x [rows, channels]: two passes over each
// block while it is in cache, blocks joined as in Chan, Golub and LeVeque (1979), in double.
template <class T>
void add_moments(const T* HWY_RESTRICT x, std::int64_t rows, std::int64_t channels, double* HWY_RESTRICT mean,
                 double* HWY_RESTRICT deviation) {
  HWY_ALIGN float means[kMostLanes];
  HWY_ALIGN float rests[kMostLanes];
  HWY_ALIGN float squares[kMostLanes];
  for (std::int64_t c = 0; c < channels; ++c) mean[c] = deviation[c] = 0;
  for (std::int64_t block = 0; block < rows; block += kBlockRows) {
    const std::int64_t last = std::min(rows, block + kBlockRows);
    const auto count = static_cast<double>(last - block);
    const double share = count / static_cast<double>(last);    // of the new block in the joined mean
    const double weight = static_cast<double>(block) * share;  // seen * new / joined
    for_four_lanes(channels, [&](auto d, std::int64_t c, auto vectors) HWY_ATTR {
      constexpr int kVectors = decltype(vectors)::value;
      const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
      const auto inverse = hn::Set(d, static_cast<float>(1.0 / count));
      hn::Vec<decltype(d)> sum[kVectors], m[kVectors], rest[kVectors], square[kVectors];
#pragma GCC unroll 4  // or sums would lie in memory
      for (int k = 0; k < kVectors; ++k) sum[k] = rest[k] = square[k] = hn::Zero(d);
      for (std::int64_t row = block; row < last; ++row) {
        const T* at = x + row * channels + c;
#pragma GCC unroll 4
        for (int k = 0; k < kVectors; ++k) sum[k] = hn::Add(sum[k], load(d, at + k * lanes));
      }
#pragma GCC unroll 4
      for (int k = 0; k < kVectors; ++k) m[k] = hn::Mul(sum[k], inverse);
      // Meanwhile operands of the next channels of these rows, or of the first ones of the next rows, are prefetched.
      const std::int64_t next = c + kVectors * lanes < channels ? kVectors * lanes : kBlockRows * channels - c;
      for (std::int64_t row = block; row < last; ++row) {
        const T* at = x + row * channels + c;
#pragma GCC unroll 4
        for (int k = 0; k < kVectors; ++k) {
          hwy::Prefetch(at + next + k * lanes);
          const auto v = hn::Sub(load(d, at + k * lanes), m[k]);
          rest[k] = hn::Add(rest[k], v);
          square[k] = hn::MulAdd(v, v, square[k]);
        }
      }
#pragma GCC unroll 4
      for (int k = 0; k < kVectors; ++k) {
        hn::StoreU(m[k], d, means + k * lanes);
        hn::StoreU(rest[k], d, rests + k * lanes);
        hn::StoreU(square[k], d, squares + k * lanes);
      }
      join_block({means, rests, squares}, kVectors * lanes, count, share, weight, mean + c, deviation + c);
    });
  }
}

template <bool kAddend, bool kRelu, bool kCeiling, bool kStream, class T>
void normalise(const NormaliseOperands<T>& o, std::int64_t rows, std::int64_t channels, T* y) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t at = row * channels;
    const auto value = [&](auto d, std::int64_t c) HWY_ATTR {
      const auto distance = hn::Sub(load(d, o.x + at + c), hn::LoadU(d, o.mean + c));
      auto v = hn::MulAdd(distance, hn::LoadU(d, o.scale + c), hn::LoadU(d, o.beta + c));
      if constexpr (kAddend) v = hn::Add(as_stored<T>(d, v), load(d, o.addend + at + c));  // as two ops would
      if constexpr (kRelu) v = hn::IfThenZeroElse(hn::Le(v, hn::Zero(d)), v);              // NaN stays, -0 becomes 0
      if constexpr (kCeiling) v = hn::IfThenElse(hn::Gt(v, hn::Set(d, o.ceiling)), hn::Set(d, o.ceiling), v);
      return v;
    };
    const auto ask = [&](std::int64_t c) HWY_ATTR {
      hwy::Prefetch(o.x + at + c + kAhead);
      if constexpr (kAddend) hwy::Prefetch(o.addend + at + c + kAhead);
    };
    if constexpr (kStream) {
#if HWY_TARGET != HWY_SCALAR
      const hn::ScalableTag<float> d;
      const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
      for (std::int64_t c = 0; c < channels; c += kStreamed<T>) {
        ask(c);
        if constexpr (std::is_same_v<T, float>)
          hn::Stream(value(d, c), d, y + at + c);
        else
          stream_both(value(d, c), value(d, c + lanes), d, y + at + c);
      }
#endif
    } else {
      for_lanes(channels, [&](auto d, std::int64_t c) HWY_ATTR {
        ask(c);
        store(value(d, c), d, y + at + c);
      });
    }
  }
  if constexpr (kStream) hwy::FlushStream();
}

template <bool kAddend, bool kRelu, bool kCeiling, class T>
void normalise_form(const NormaliseOperands<T>& o, std::int64_t rows, std::int64_t channels, T* y) {
#if HWY_TARGET != HWY_SCALAR
  // Vectors that are streamed must be aligned in every row.
  constexpr auto kBytes = static_cast<std::uintptr_t>(kStreamed<T>) * sizeof(T);
  const bool aligned = channels % kStreamed<T> == 0 && reinterpret_cast<std::uintptr_t>(y) % kBytes == 0;
  if (o.stream && aligned) return normalise<kAddend, kRelu, kCeiling, true>(o, rows, channels, y);
#endif
  normalise<kAddend, kRelu, kCeiling, false>(o, rows, channels, y);
}

template <bool kAddend, class T>
void normalise_activated(const NormaliseOperands<T>& o, std::int64_t rows, std::int64_t channels, T* y) {
  if (!o.relu) return normalise_form<kAddend, false, false>(o, rows, channels, y);
  o.ceiling > 0 ? normalise_form<kAddend, true, true>(o, rows, channels, y)
                : normalise_form<kAddend, true, false>(o, rows, channels, y);
}

template <class T>
void normalise_rows(const NormaliseOperands<T>& o, std::int64_t rows, std::int64_t channels, T* y) {
  o.addend != nullptr ? normalise_activated<true>(o, rows, channels, y)
                      : normalise_activated<false>(o, rows, channels, y);
}

void add_moments_f32(const float* x, std::int64_t rows, std::int64_t channels, double* mean, double* deviation) {
  add_moments(x, rows, channels, mean, deviation);
}
void add_moments_bf16(const bfloat16* x, std::int64_t rows, std::int64_t channels, double* mean, double* deviation) {
  add_moments(x, rows, channels, mean, deviation);
}
void normalise_rows_f32(const NormaliseOperands<float>& o, std::int64_t rows, std::int64_t channels, float* y) {
  normalise_rows(o, rows, channels, y);
}
void normalise_rows_bf16(const NormaliseOperands<bfloat16>& o, std::int64_t rows, std::int64_t channels, bfloat16* y) {
  normalise_rows(o, rows, channels, y);
}

}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device {

HWY_EXPORT(add_moments_f32);
HWY_EXPORT(add_moments_bf16);
HWY_EXPORT(normalise_rows_f32);
HWY_EXPORT(normalise_rows_bf16);

namespace {

void add_moments(const float* x, std::int64_t rows, std::int64_t channels, double* mean, double* deviation) {
  HWY_DYNAMIC_DISPATCH(add_moments_f32)(x, rows, channels, mean, deviation);
}
void add_moments(const bfloat16* x, std::int64_t rows, std::int64_t channels, double* mean, double* deviation) {
  HWY_DYNAMIC_DISPATCH(add_moments_bf16)(x, rows, channels, mean, deviation);
}
void normalise_rows(const NormaliseOperands<float>& o, std::int64_t rows, std::int64_t channels, float* y) {
  HWY_DYNAMIC_DISPATCH(normalise_rows_f32)(o, rows, channels, y);
}
void normalise_rows(const NormaliseOperands<bfloat16>& o, std::int64_t rows, std::int64_t channels, bfloat16* y) {
  HWY_DYNAMIC_DISPATCH(normalise_rows_bf16)(o, rows, channels, y);
}

// A y of so many bytes is written with non-temporal stores: it would not stay in the caches until it is read, and its
// old contents need not be read. In f32 the pass over 25 MB takes 1.2 ms instead of 2.3, over 103 MB 6.3 instead of
// 11.0 (two cores of an Intel VM with AVX-512).
constexpr std::int64_t kStreamedBytes = std::int64_t{4} << 20;

// y in its rows, by the team.
template <class T>
void normalise(const Norm& norm, NormaliseOperands<T> operands, T* y) {
  const bool in_place = y == operands.x || y == operands.addend;  // what lies there is read anyway
  operands.stream = !in_place && norm.rows * norm.channels * static_cast<std::int64_t>(sizeof(T)) >= kStreamedBytes;
  parallel_for(norm.rows, norm.thread_rows(), [&](std::int64_t begin, std::int64_t end) {
    norm.from_behind(begin, end, [&](std::int64_t first, std::int64_t rows) {
      const std::int64_t at = first * norm.channels;
      normalise_rows(operands.from(at), rows, norm.channels, y + at);
    });
  });
}

template <class T>
const T* addend_of(const KernelArguments& a, bool addend) {
  return addend ? input<T>(a, 5) : nullptr;
}

// What follows the normalisation in the same pass.
struct Ending {
  bool addend;
  bool relu;  // or relu6, if there is a ceiling
  float ceiling = 0;
  explicit Ending(const KernelRequest& request)
      : addend(request.inputs.size() == 6), relu(request.node.attributes.string("activation") != "none") {
    if (request.node.attributes.string("activation") == "relu6") ceiling = 6;
  }
};

template <class T>
void train(const Norm& norm, double momentum, double epsilon, const Ending& ending, const KernelArguments& a) {
  const auto* x = input<T>(a, 0);
  const auto *gamma = input<float>(a, 1), *beta = input<float>(a, 2);
  const auto *old_mean = input<float>(a, 3), *old_var = input<float>(a, 4);
  auto *mean = output<float>(a, 1), *inv_std = output<float>(a, 2);
  auto *new_mean = output<float>(a, 3), *new_var = output<float>(a, 4);
  parallel_for(norm.chunks.count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      const std::int64_t first = norm.chunks.begin(chunk);
      double* partial = norm.partial(a.scratch, chunk);
      add_moments(x + first * norm.channels, norm.chunks.end(chunk) - first, norm.channels, partial,
                  partial + norm.channels);
    }
  });
  float* scale = norm.factors(a.scratch, 0);
  const auto finish = [&](std::int64_t c) {
    double m = 0;
    double deviation = 0;
    for (std::int64_t chunk = 0; chunk < norm.chunks.count; ++chunk) {
      const double* partial = norm.partial(a.scratch, chunk);
      const auto joined = static_cast<double>(norm.chunks.end(chunk));
      const auto seen = static_cast<double>(norm.chunks.begin(chunk));
      const double delta = partial[c] - m;
      m += delta * ((joined - seen) / joined);
      deviation += partial[norm.channels + c] + delta * delta * (seen * (joined - seen) / joined);
    }
    const auto count = static_cast<double>(norm.rows);
    const double variance = deviation / count;
    const double inverse = 1.0 / std::sqrt(variance + epsilon);
    // The unbiased variance of a single value is not defined; its biased one (0) is kept then.
    const double unbiased = norm.rows > 1 ? deviation / (count - 1) : variance;
    mean[c] = static_cast<float>(m);
    inv_std[c] = static_cast<float>(inverse);
    scale[c] = inv_std[c] * gamma[c];  // in f32: the backward pass makes the same one of what is stored
    new_mean[c] = static_cast<float>((1 - momentum) * static_cast<double>(old_mean[c]) + momentum * m);
    new_var[c] = static_cast<float>((1 - momentum) * static_cast<double>(old_var[c]) + momentum * unbiased);
  };
  for_channels(norm, finish);
  normalise<T>(norm, {x, mean, scale, beta, addend_of<T>(a, ending.addend), ending.relu, ending.ceiling},
               output<T>(a, 0));
}

}  // namespace

KernelChoice make_own_batch_norm_train(const KernelRequest& request) {
  if (auto refusal = refuse_norm(request)) return *refusal;
  const Norm norm(request.inputs[0].type.shape, summing_team(request));
  const DType dtype = request.inputs[0].type.dtype;
  const Ending ending(request);
  const double momentum = request.node.attributes.real("momentum");
  const double epsilon = request.node.attributes.real("epsilon");
  auto kernel = make_body_kernel(own_name("batch_norm_train"), [=](const KernelArguments& a) {
    with_type(dtype, [&](auto stored) { train<decltype(stored)>(norm, momentum, epsilon, ending, a); });
  });
  kernel->scratch_bytes = norm.scratch_bytes();
  kernel->in_place = {ending.addend ? 5 : -1, -1, -1, -1, -1};
  return kernel;
}

KernelChoice make_own_batch_norm_eval(const KernelRequest& request) {
  if (auto refusal = refuse_norm(request)) return *refusal;
  const Norm norm(request.inputs[0].type.shape, summing_team(request));
  const DType dtype = request.inputs[0].type.dtype;
  const Ending ending(request);
  const double epsilon = request.node.attributes.real("epsilon");
  const bool inverse = request.node.attributes.boolean("var_is_inv_std");
  auto kernel = make_body_kernel(own_name("batch_norm_eval"), [=](const KernelArguments& a) {
    const auto *gamma = input<float>(a, 1), *beta = input<float>(a, 2);
    const auto *mean = input<float>(a, 3), *variance = input<float>(a, 4);
    auto* scale = static_cast<float*>(a.scratch);
    for (std::int64_t c = 0; c < norm.channels; ++c) {
      if (inverse) {
        scale[c] = variance[c] * gamma[c];  // as the training op has it
        continue;
      }
      scale[c] =
          static_cast<float>(static_cast<double>(gamma[c]) / std::sqrt(static_cast<double>(variance[c]) + epsilon));
    }
    with_type(dtype, [&](auto stored) {
      using T = decltype(stored);
      normalise<T>(norm,
                   {input<T>(a, 0), mean, scale, beta, addend_of<T>(a, ending.addend), ending.relu, ending.ceiling},
                   output<T>(a, 0));
    });
  });
  kernel->scratch_bytes = static_cast<std::size_t>(norm.channels) * sizeof(float);
  kernel->in_place = {0};
  return kernel;
}

}  // namespace ridgeline::device
#endif  // HWY_ONCE
