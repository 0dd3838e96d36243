#include "ridgeline/device/cpu/norm/sample_norm_code.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/device/cpu/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/norm/sample_norm_code.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ridgeline/device/cpu/for_lanes-inl.h"
#include "ridgeline/device/cpu/storage-inl.h"
#include "ridgeline/device/cpu/virtual_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// ---- rows

template <class Value>
void norm_row(const NormRows<Value>& row, const float* HWY_RESTRICT gamma, const float* HWY_RESTRICT beta,
              std::int64_t n, double epsilon, float* HWY_RESTRICT buffer, float* mean_to, float* inv_std_to) {
  for_lanes(n, [&](auto d, std::int64_t c) HWY_ATTR { hn::StoreU(load(d, row.x + c), d, buffer + c); });
  const auto count = static_cast<double>(n);
  const double mean = sum_in_virtual_lanes<0>(
                          buffer, n, [](auto sum, auto v) HWY_ATTR { return hn::Add(sum, v); },
                          [](float v) { return static_cast<double>(v); }) /
                      count;
  const auto m = static_cast<float>(mean);
  for_lanes(n, [&](auto d, std::int64_t c)
                   HWY_ATTR { hn::StoreU(hn::Sub(hn::LoadU(d, buffer + c), hn::Set(d, m)), d, buffer + c); });
  const double squares = sum_in_virtual_lanes<0>(
      buffer, n, [](auto sum, auto v) HWY_ATTR { return hn::MulAdd(v, v, sum); },
      [](float v) { return static_cast<double>(v) * static_cast<double>(v); });
  const double rest = mean - static_cast<double>(m);  // what the mean lost when it was rounded
  const auto inv_std =
      static_cast<float>(1 / std::sqrt(std::max(squares / count - rest * rest, 0.0) + epsilon));  // NaN stays
  for_lanes(n, [&](auto d, std::int64_t c) HWY_ATTR {
    const auto xhat = hn::Mul(hn::LoadU(d, buffer + c), hn::Set(d, inv_std));
    store(hn::Add(hn::Mul(xhat, hn::LoadU(d, gamma + c)), hn::LoadU(d, beta + c)), d, row.to + c);
  });
  *mean_to = m;
  *inv_std_to = inv_std;
}

// `buffer` is room for 2n floats. The row's summands of dgamma and dbeta are added to `dgamma`, `dbeta`.
template <class Value>
void norm_row_gradient(const NormRows<Value>& row, const float* HWY_RESTRICT gamma, std::int64_t n, float mean,
                       float inv_std, float* HWY_RESTRICT buffer, float* HWY_RESTRICT dgamma,
                       float* HWY_RESTRICT dbeta) {
  float* const xhat = buffer;
  float* const products = buffer + n;
  for_lanes(n, [&](auto d, std::int64_t c) HWY_ATTR {
    const auto v = hn::Mul(hn::Sub(load(d, row.x + c), hn::Set(d, mean)), hn::Set(d, inv_std));
    const auto dy = load(d, row.dy + c);
    hn::StoreU(v, d, xhat + c);
    hn::StoreU(hn::Mul(dy, hn::LoadU(d, gamma + c)), d, products + c);
    hn::StoreU(hn::MulAdd(dy, v, hn::LoadU(d, dgamma + c)), d, dgamma + c);
    hn::StoreU(hn::Add(dy, hn::LoadU(d, dbeta + c)), d, dbeta + c);
  });
  const auto plain = [](auto sum, auto v) HWY_ATTR { return hn::Add(sum, v); };
  const auto one = [](float v) { return static_cast<double>(v); };
  const double sum = sum_in_virtual_lanes<0>(products, n, plain, one);
  for_lanes(n, [&](auto d, std::int64_t c) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::LoadU(d, products + c), hn::LoadU(d, xhat + c)), d, products + c);
  });
  const double product = sum_in_virtual_lanes<0>(products, n, plain, one);
  const auto of_sum = static_cast<float>(sum / static_cast<double>(n));
  const auto of_product = static_cast<float>(product / static_cast<double>(n));
  for_lanes(n, [&](auto d, std::int64_t c) HWY_ATTR {
    const auto g = hn::Sub(hn::Mul(load(d, row.dy + c), hn::LoadU(d, gamma + c)), hn::Set(d, of_sum));
    const auto v = hn::NegMulAdd(hn::LoadU(d, xhat + c), hn::Set(d, of_product), g);
    store(hn::Mul(v, hn::Set(d, inv_std)), d, row.to + c);
  });
}

// ---- channels over positions

// Sums over so many positions are taken in f32.
constexpr std::int64_t kNormBlock = 64;

// sums[c] += the sum of x[p,c], or of (x[p,c] - mean[c])^2 where there is a mean.
template <class Value>
void norm_sums(const Value* HWY_RESTRICT x, std::int64_t positions, std::int64_t channels, const float* mean,
               double* HWY_RESTRICT sums) {
  for_lanes(channels, [&](auto d, std::int64_t c) HWY_ATTR {
    HWY_ALIGN float parts[HWY_LANES(float)];
    const auto m = mean == nullptr ? hn::Zero(d) : hn::LoadU(d, mean + c);
    for (std::int64_t block = 0; block < positions; block += kNormBlock) {
      auto sum = hn::Zero(d);
      for (std::int64_t p = block; p < std::min(positions, block + kNormBlock); ++p) {
        const auto v = hn::Sub(load(d, x + p * channels + c), m);
        sum = mean == nullptr ? hn::Add(sum, v) : hn::MulAdd(v, v, sum);
      }
      hn::StoreU(sum, d, parts);
      for (std::size_t i = 0; i < hn::Lanes(d); ++i)
        sums[c + static_cast<std::int64_t>(i)] += static_cast<double>(parts[i]);
    }
  });
}

template <class Value>
void norm_gradient_sums(const NormRows<Value>& rows, std::int64_t positions, std::int64_t channels, const float* mean,
                        const float* inv_std, double* HWY_RESTRICT sums, double* HWY_RESTRICT products) {
  for_lanes(channels, [&](auto d, std::int64_t c) HWY_ATTR {
    HWY_ALIGN float parts[HWY_LANES(float)];
    const auto m = hn::LoadU(d, mean + c), factor = hn::LoadU(d, inv_std + c);
    for (std::int64_t block = 0; block < positions; block += kNormBlock) {
      auto sum = hn::Zero(d), product = hn::Zero(d);
      for (std::int64_t p = block; p < std::min(positions, block + kNormBlock); ++p) {
        const auto dy = load(d, rows.dy + p * channels + c);
        sum = hn::Add(sum, dy);
        product = hn::MulAdd(dy, hn::Mul(hn::Sub(load(d, rows.x + p * channels + c), m), factor), product);
      }
      hn::StoreU(sum, d, parts);
      for (std::size_t i = 0; i < hn::Lanes(d); ++i)
        sums[c + static_cast<std::int64_t>(i)] += static_cast<double>(parts[i]);
      hn::StoreU(product, d, parts);
      for (std::size_t i = 0; i < hn::Lanes(d); ++i)
        products[c + static_cast<std::int64_t>(i)] += static_cast<double>(parts[i]);
    }
  });
}

template <class Value>
void norm_apply(const NormRows<Value>& rows, std::int64_t positions, std::int64_t channels, const NormLine& line) {
  for (std::int64_t p = 0; p < positions; ++p) {
    for_lanes(channels, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto v = hn::Sub(load(d, rows.x + p * channels + c), hn::LoadU(d, line.mean + c));
      store(hn::Add(hn::Mul(v, hn::LoadU(d, line.scale + c)), hn::LoadU(d, line.shift + c)), d,
            rows.to + p * channels + c);
    });
  }
}

template <class Value>
void norm_apply_gradient(const NormRows<Value>& rows, std::int64_t positions, std::int64_t channels,
                         const NormGradientLine& line) {
  for (std::int64_t p = 0; p < positions; ++p) {
    for_lanes(channels, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto factor = hn::LoadU(d, line.inv_std + c);
      const auto xhat = hn::Mul(hn::Sub(load(d, rows.x + p * channels + c), hn::LoadU(d, line.mean + c)), factor);
      const auto g = hn::Sub(hn::Mul(load(d, rows.dy + p * channels + c), hn::LoadU(d, line.gamma + c)),
                             hn::LoadU(d, line.of_sum + c));
      store(hn::Mul(hn::NegMulAdd(xhat, hn::LoadU(d, line.of_product + c), g), factor), d, rows.to + p * channels + c);
    });
  }
}

template <class Value>
NormCode<Value> norm_code() {
  return {norm_row<Value>,           norm_row_gradient<Value>, norm_sums<Value>,
          norm_gradient_sums<Value>, norm_apply<Value>,        norm_apply_gradient<Value>};
}
NormCode<float> norm_code_f32() { return norm_code<float>(); }
NormCode<bfloat16> norm_code_bf16() { return norm_code<bfloat16>(); }

}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device {

HWY_EXPORT(norm_code_f32);
HWY_EXPORT(norm_code_bf16);

template <>
NormCode<float> norm_code_of<float>() {
  return HWY_DYNAMIC_DISPATCH(norm_code_f32)();
}
template <>
NormCode<bfloat16> norm_code_of<bfloat16>() {
  return HWY_DYNAMIC_DISPATCH(norm_code_bf16)();
}

}  // namespace ridgeline::device
#endif  // HWY_ONCE
