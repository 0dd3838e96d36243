#include <cmath>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/own_common.h"
#include "ridgeline/device/cpu/own_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/own_batch_norm.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ridgeline/device/cpu/for_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows that are summed in f32 before the sums are widened: 32 rows of four vectors stay in the first-level cache.
constexpr std::int64_t kBlockRows = 32;
constexpr int kMostLanes = 4 * HWY_LANES(float);

// Mean and sum of squared deviations of each channel over rows [0, rows) of x [rows, channels]: two passes over each
// block while it is in cache, blocks joined as in Chan, Golub and LeVeque (1979), in double.
void add_moments(const float* HWY_RESTRICT x, std::int64_t rows, std::int64_t channels, double* HWY_RESTRICT mean,
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
      for (int k = 0; k < kVectors; ++k) sum[k] = rest[k] = square[k] = hn::Zero(d);
      for (std::int64_t row = block; row < last; ++row) {
        const float* at = x + row * channels + c;
        for (int k = 0; k < kVectors; ++k) sum[k] = hn::Add(sum[k], hn::LoadU(d, at + k * lanes));
      }
      for (int k = 0; k < kVectors; ++k) m[k] = hn::Mul(sum[k], inverse);
      for (std::int64_t row = block; row < last; ++row) {
        const float* at = x + row * channels + c;
        for (int k = 0; k < kVectors; ++k) {
          const auto v = hn::Sub(hn::LoadU(d, at + k * lanes), m[k]);
          rest[k] = hn::Add(rest[k], v);
          square[k] = hn::MulAdd(v, v, square[k]);
        }
      }
      for (int k = 0; k < kVectors; ++k) {
        hn::StoreU(m[k], d, means + k * lanes);
        hn::StoreU(rest[k], d, rests + k * lanes);
        hn::StoreU(square[k], d, squares + k * lanes);
      }
      for (std::int64_t i = 0; i < kVectors * lanes; ++i) {
        const double left = static_cast<double>(rests[i]) / count;  // of the mean, that its rounding lost
        const double delta = static_cast<double>(means[i]) + left - mean[c + i];
        mean[c + i] += delta * share;
        deviation[c + i] += static_cast<double>(squares[i]) - left * left * count + delta * delta * weight;
      }
    });
  }
}

// y = (x - mean) * scale + beta, channel by channel.
void normalise_rows(const float* HWY_RESTRICT x, std::int64_t rows, std::int64_t channels,
                    const float* HWY_RESTRICT mean, const float* HWY_RESTRICT scale, const float* HWY_RESTRICT beta,
                    float* HWY_RESTRICT y) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* in = x + row * channels;
    float* out = y + row * channels;
    for_lanes(channels, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto v = hn::Sub(hn::LoadU(d, in + c), hn::LoadU(d, mean + c));
      hn::StoreU(hn::MulAdd(v, hn::LoadU(d, scale + c), hn::LoadU(d, beta + c)), d, out + c);
    });
  }
}

// sum_dy[c] = sum of dy, sum_dyx[c] = sum of dy * (x - mean).
void gradient_sums(const float* HWY_RESTRICT x, const float* HWY_RESTRICT dy, std::int64_t rows, std::int64_t channels,
                   const float* HWY_RESTRICT mean, double* HWY_RESTRICT sum_dy, double* HWY_RESTRICT sum_dyx) {
  HWY_ALIGN float plain[kMostLanes];
  HWY_ALIGN float product[kMostLanes];
  for (std::int64_t c = 0; c < channels; ++c) sum_dy[c] = sum_dyx[c] = 0;
  for (std::int64_t block = 0; block < rows; block += kBlockRows) {
    const std::int64_t last = std::min(rows, block + kBlockRows);
    for_four_lanes(channels, [&](auto d, std::int64_t c, auto vectors) HWY_ATTR {
      constexpr int kVectors = decltype(vectors)::value;
      const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
      hn::Vec<decltype(d)> m[kVectors], s[kVectors], p[kVectors];
      for (int k = 0; k < kVectors; ++k) {
        m[k] = hn::LoadU(d, mean + c + k * lanes);
        s[k] = p[k] = hn::Zero(d);
      }
      for (std::int64_t row = block; row < last; ++row) {
        const std::int64_t at = row * channels + c;
        for (int k = 0; k < kVectors; ++k) {
          const auto g = hn::LoadU(d, dy + at + k * lanes);
          s[k] = hn::Add(s[k], g);
          p[k] = hn::MulAdd(g, hn::Sub(hn::LoadU(d, x + at + k * lanes), m[k]), p[k]);
        }
      }
      for (int k = 0; k < kVectors; ++k) {
        hn::StoreU(s[k], d, plain + k * lanes);
        hn::StoreU(p[k], d, product + k * lanes);
      }
      for (std::int64_t i = 0; i < kVectors * lanes; ++i) {
        sum_dy[c + i] += static_cast<double>(plain[i]);
        sum_dyx[c + i] += static_cast<double>(product[i]);
      }
    });
  }
}

// dx = dy * a + (x - mean) * b + e, channel by channel.
void gradient_rows(const float* HWY_RESTRICT x, const float* HWY_RESTRICT dy, std::int64_t rows, std::int64_t channels,
                   const float* HWY_RESTRICT mean, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                   const float* HWY_RESTRICT e, float* HWY_RESTRICT dx) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t at = row * channels;
    for_lanes(channels, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto v = hn::Sub(hn::LoadU(d, x + at + c), hn::LoadU(d, mean + c));
      const auto offset = hn::MulAdd(v, hn::LoadU(d, b + c), hn::LoadU(d, e + c));
      hn::StoreU(hn::MulAdd(hn::LoadU(d, dy + at + c), hn::LoadU(d, a + c), offset), d, dx + at + c);
    });
  }
}

}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device {

HWY_EXPORT(add_moments);
HWY_EXPORT(normalise_rows);
HWY_EXPORT(gradient_sums);
HWY_EXPORT(gradient_rows);

namespace {

// x as [rows, channels] and the chunks over which its sums run.
struct Norm {
  std::int64_t rows;
  std::int64_t channels;
  Chunks chunks;
  explicit Norm(const Shape& shape)
      : rows(shape.elements() / std::max<std::int64_t>(1, shape[-1])), channels(shape[-1]), chunks(rows, 128, 64) {}
  // Two doubles for every chunk and channel, then three floats a channel.
  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(channels) *
           (static_cast<std::size_t>(chunks.count) * 2 * sizeof(double) + 3 * sizeof(float));
  }
  double* partial(void* scratch, std::int64_t chunk) const {
    return static_cast<double*>(scratch) + chunk * 2 * channels;
  }
  float* factors(void* scratch, int i) const {
    return reinterpret_cast<float*>(partial(scratch, chunks.count)) + i * channels;
  }
};

// Rows a task gets at least when a pass streams through memory.
std::int64_t row_grain(const Norm& norm) { return std::max<std::int64_t>(1, 16 * 1024 / norm.channels); }

template <class Finish>
void for_channels(const Norm& norm, const Finish& finish) {
  parallel_for(norm.channels, 128, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) finish(c);
  });
}

void train(const Norm& norm, double momentum, double epsilon, const KernelArguments& a) {
  const auto* x = input<float>(a, 0);
  const auto *gamma = input<float>(a, 1), *beta = input<float>(a, 2);
  const auto *old_mean = input<float>(a, 3), *old_var = input<float>(a, 4);
  auto* y = output<float>(a, 0);
  auto *mean = output<float>(a, 1), *inv_std = output<float>(a, 2);
  auto *new_mean = output<float>(a, 3), *new_var = output<float>(a, 4);
  parallel_for(norm.chunks.count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      const std::int64_t first = norm.chunks.begin(chunk);
      double* partial = norm.partial(a.scratch, chunk);
      HWY_DYNAMIC_DISPATCH(add_moments)
      (x + first * norm.channels, norm.chunks.end(chunk) - first, norm.channels, partial, partial + norm.channels);
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
    scale[c] = static_cast<float>(inverse * static_cast<double>(gamma[c]));
    new_mean[c] = static_cast<float>((1 - momentum) * static_cast<double>(old_mean[c]) + momentum * m);
    new_var[c] = static_cast<float>((1 - momentum) * static_cast<double>(old_var[c]) + momentum * unbiased);
  };
  for_channels(norm, finish);
  parallel_for(norm.rows, row_grain(norm), [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t at = begin * norm.channels;
    HWY_DYNAMIC_DISPATCH(normalise_rows)(x + at, end - begin, norm.channels, mean, scale, beta, y + at);
  });
}

// With xhat = (x - mean) * inv_std over M rows:
// dx = gamma * inv_std * (dy - sum(dy)/M - xhat * sum(dy * xhat)/M), dgamma = sum(dy * xhat), dbeta = sum(dy).
void backward(const Norm& norm, const KernelArguments& a) {
  const auto *x = input<float>(a, 0), *dy = input<float>(a, 1), *gamma = input<float>(a, 2);
  const auto *mean = input<float>(a, 3), *inv_std = input<float>(a, 4);
  auto *dx = output<float>(a, 0), *dgamma = output<float>(a, 1), *dbeta = output<float>(a, 2);
  parallel_for(norm.chunks.count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      const std::int64_t first = norm.chunks.begin(chunk);
      const std::int64_t at = first * norm.channels;
      double* partial = norm.partial(a.scratch, chunk);
      HWY_DYNAMIC_DISPATCH(gradient_sums)
      (x + at, dy + at, norm.chunks.end(chunk) - first, norm.channels, mean, partial, partial + norm.channels);
    }
  });
  float *dy_factor = norm.factors(a.scratch, 0), *x_factor = norm.factors(a.scratch, 1),
        *offset = norm.factors(a.scratch, 2);
  const auto count = static_cast<double>(norm.rows);
  const auto finish = [&](std::int64_t c) {
    double sum_dy = 0;
    double sum_dyx = 0;
    for (std::int64_t chunk = 0; chunk < norm.chunks.count; ++chunk) {
      const double* partial = norm.partial(a.scratch, chunk);
      sum_dy += partial[c];
      sum_dyx += partial[norm.channels + c];
    }
    const auto inverse = static_cast<double>(inv_std[c]);
    const double scale = static_cast<double>(gamma[c]) * inverse;
    dgamma[c] = static_cast<float>(sum_dyx * inverse);
    dbeta[c] = static_cast<float>(sum_dy);
    dy_factor[c] = static_cast<float>(scale);
    x_factor[c] = static_cast<float>(-scale * inverse * inverse * sum_dyx / count);
    offset[c] = static_cast<float>(-scale * sum_dy / count);
  };
  for_channels(norm, finish);
  parallel_for(norm.rows, row_grain(norm), [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t at = begin * norm.channels;
    HWY_DYNAMIC_DISPATCH(gradient_rows)
    (x + at, dy + at, end - begin, norm.channels, mean, dy_factor, x_factor, offset, dx + at);
  });
}

std::optional<Refusal> refuse_norm(const KernelRequest& request) {
  if (request.inputs[0].type.shape.elements() == 0) return Refusal{"x is empty"};
  return std::nullopt;
}

}  // namespace

KernelChoice make_own_batch_norm_train(const KernelRequest& request) {
  if (auto refusal = refuse_norm(request)) return *refusal;
  const Norm norm(request.inputs[0].type.shape);
  const double momentum = request.node.attributes.real("momentum");
  const double epsilon = request.node.attributes.real("epsilon");
  auto kernel = make_body_kernel(own_name("batch_norm_train"),
                                 [=](const KernelArguments& a) { train(norm, momentum, epsilon, a); });
  kernel->scratch_bytes = norm.scratch_bytes();
  return kernel;
}

KernelChoice make_own_batch_norm_bwd(const KernelRequest& request) {
  if (auto refusal = refuse_norm(request)) return *refusal;
  const Norm norm(request.inputs[0].type.shape);
  auto kernel = make_body_kernel(own_name("batch_norm_bwd"), [=](const KernelArguments& a) { backward(norm, a); });
  kernel->scratch_bytes = norm.scratch_bytes();
  return kernel;
}

KernelChoice make_own_batch_norm_eval(const KernelRequest& request) {
  if (auto refusal = refuse_norm(request)) return *refusal;
  const Norm norm(request.inputs[0].type.shape);
  const double epsilon = request.node.attributes.real("epsilon");
  auto kernel = make_body_kernel(own_name("batch_norm_eval"), [=](const KernelArguments& a) {
    const auto *x = input<float>(a, 0), *gamma = input<float>(a, 1), *beta = input<float>(a, 2);
    const auto *mean = input<float>(a, 3), *variance = input<float>(a, 4);
    auto* scale = static_cast<float*>(a.scratch);
    for (std::int64_t c = 0; c < norm.channels; ++c) {
      scale[c] =
          static_cast<float>(static_cast<double>(gamma[c]) / std::sqrt(static_cast<double>(variance[c]) + epsilon));
    }
    parallel_for(norm.rows, row_grain(norm), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t at = begin * norm.channels;
      HWY_DYNAMIC_DISPATCH(normalise_rows)
      (x + at, end - begin, norm.channels, mean, scale, beta, output<float>(a, 0) + at);
    });
  });
  kernel->scratch_bytes = static_cast<std::size_t>(norm.channels) * sizeof(float);
  return kernel;
}

}  // namespace ridgeline::device
#endif  // HWY_ONCE
