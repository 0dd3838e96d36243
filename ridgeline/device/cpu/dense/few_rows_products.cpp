#include "ridgeline/device/cpu/dense/few_rows_products.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/dense/few_rows_products.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "hwy/cache_control.h"
#include "ridgeline/device/cpu/for_lanes-inl.h"
#include "ridgeline/device/cpu/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kDotLanes = 16;    // virtual ones
constexpr std::int64_t kDotChunk = 1024;  // inputs whose part of some rows of w stays in the first cache
constexpr int kDotOutputs = HWY_LANES(float) >= 16 ? 4 : 2;  // rows of w at a time, and rows of x:
constexpr int kDotRows = HWY_LANES(float) >= 16 ? 4 : 2;     // what the registers hold

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const float16* from) {
  const hn::Rebind<hwy::float16_t, D> halves;
  return hn::PromoteTo(d, hn::LoadU(halves, reinterpret_cast<const hwy::float16_t*>(from)));
}

// product(RowsAt<T>) of the weights' type.
template <class Product>
HWY_INLINE void with_weights(WeightRows w, const Product& product) {
  switch (w.type) {
    case DType::f32: return product(RowsAt<float>{static_cast<const float*>(w.at), w.step});
    case DType::bf16: return product(RowsAt<bfloat16>{static_cast<const bfloat16*>(w.at), w.step});
    default: return product(RowsAt<float16>{static_cast<const float16*>(w.at), w.step});
  }
}

// Adds n products, a multiple of kDotLanes, to the lanes of K rows of w and R of x; those of rows k and r are at
// lanes + k * lanes_step + r * kDotLanes. `ahead`: what is prefetched of each row of w.
template <int K, int R, class T>
HWY_INLINE void dot_chunk(RowsAt<T> w, const T* ahead, RowsAt<float> x, std::int64_t n, float* HWY_RESTRICT lanes,
                          std::int64_t lanes_step) {
  constexpr int kVectors = static_cast<int>(kDotLanes / HWY_LANES(float));
  const hn::ScalableTag<float> d;
  const auto width = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sums[K][R][kVectors];
  for (int k = 0; k < K; ++k) {
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < kVectors; ++v)
        sums[k][r][v] = hn::LoadU(d, lanes + k * lanes_step + r * kDotLanes + v * width);
    }
  }
  for (std::int64_t i = 0; i < n; i += kDotLanes) {
    for (int k = 0; k < K; ++k) hwy::Prefetch(ahead + k * w.step + i);
    for (int v = 0; v < kVectors; ++v) {
      const std::int64_t at = i + v * width;
      hn::Vec<decltype(d)> weights[K];
      for (int k = 0; k < K; ++k) weights[k] = load(d, w.at + k * w.step + at);
      for (int r = 0; r < R; ++r) {
        const auto values = hn::LoadU(d, x.at + r * x.step + at);
        for (int k = 0; k < K; ++k) sums[k][r][v] = hn::MulAdd(weights[k], values, sums[k][r][v]);
      }
    }
  }
  for (int k = 0; k < K; ++k) {
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < kVectors; ++v)
        hn::StoreU(sums[k][r][v], d, lanes + k * lanes_step + r * kDotLanes + v * width);
    }
  }
}

template <int K, class T>
HWY_INLINE void dot_all_rows(RowsAt<T> w, const T* ahead, RowsAt<float> x, std::int64_t rows, std::int64_t n,
                             float* lanes) {
  const std::int64_t step = rows * kDotLanes;
  std::int64_t r = 0;
  for (; r + kDotRows <= rows; r += kDotRows)
    dot_chunk<K, kDotRows>(w, ahead, x.from(r, 0), n, lanes + r * kDotLanes, step);
  for (; r + 2 <= rows; r += 2) dot_chunk<K, 2>(w, ahead, x.from(r, 0), n, lanes + r * kDotLanes, step);
  for (; r < rows; ++r) dot_chunk<K, 1>(w, ahead, x.from(r, 0), n, lanes + r * kDotLanes, step);
}

// K rows of w with all rows of x.
template <int K, class T>
HWY_INLINE void dot_outputs(RowsAt<T> w, RowsAt<float> x, std::int64_t rows, std::int64_t n, float* y,
                            std::int64_t y_step) {
  HWY_ALIGN float lanes[K * kFewRowsAtMost * kDotLanes];
  std::fill_n(lanes, K * rows * kDotLanes, 0.0f);
  const std::int64_t whole = n / kDotLanes * kDotLanes;
  for (std::int64_t first = 0; first < whole; first += kDotChunk) {
    const std::int64_t count = std::min(kDotChunk, whole - first);
    const T* const ahead = first + count < whole ? w.at + first + count : w.at + K * w.step;
    dot_all_rows<K>(w.from(0, first), ahead, x.from(0, first), rows, count, lanes);
  }
  if (whole < n) {  // the rest with zeros behind it
    T weights[K * kDotLanes] = {};
    float values[kFewRowsAtMost * kDotLanes] = {};
    for (int k = 0; k < K; ++k) std::copy_n(w.from(k, whole).at, n - whole, weights + k * kDotLanes);
    for (std::int64_t r = 0; r < rows; ++r) std::copy_n(x.from(r, whole).at, n - whole, values + r * kDotLanes);
    dot_all_rows<K>(RowsAt<T>{weights, kDotLanes}, weights, RowsAt<float>{values, kDotLanes}, rows, kDotLanes, lanes);
  }
  for (int k = 0; k < K; ++k) {
    for (std::int64_t r = 0; r < rows; ++r) {
      float* const sums = lanes + (k * rows + r) * kDotLanes;
      for (std::int64_t half = kDotLanes / 2; half > 0; half /= 2) {
        for (std::int64_t i = 0; i < half; ++i) sums[i] += sums[i + half];
      }
      y[r * y_step + k] = sums[0];
    }
  }
}

template <class T>
HWY_INLINE void dot_rows_of(RowsAt<T> w, std::int64_t outputs, RowsAt<float> x, std::int64_t rows, std::int64_t n,
                            float* y, std::int64_t y_step) {
  std::int64_t k = 0;
  for (; k + kDotOutputs <= outputs; k += kDotOutputs)
    dot_outputs<kDotOutputs>(w.from(k, 0), x, rows, n, y + k, y_step);
  for (; k < outputs; ++k) dot_outputs<1>(w.from(k, 0), x, rows, n, y + k, y_step);
}

void dot_rows(WeightRows w, std::int64_t outputs, RowsAt<float> x, std::int64_t rows, std::int64_t n, float* y,
              std::int64_t y_step) {
  with_weights(w, [&](auto typed) HWY_ATTR { dot_rows_of(typed, outputs, x, rows, n, y, y_step); });
}

// Adds to dx the products of K rows of w, which are summed first: an eighth of the roundings of one long sum.
template <int K, class T>
HWY_INLINE void combine_outputs(RowsAt<T> w, RowsAt<float> dy, std::int64_t rows, std::int64_t n,
                                float* HWY_RESTRICT dx, std::int64_t dx_step) {
  for_lanes(n, [&](auto d, std::int64_t i) HWY_ATTR {
    hn::Vec<decltype(d)> weights[K];
    for (int k = 0; k < K; ++k) {
      weights[k] = load(d, w.from(k, i).at);
      hwy::Prefetch(w.from(K + k, i).at);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      const float* const scale = dy.from(r, 0).at;
      auto sum = hn::Mul(hn::Set(d, scale[0]), weights[0]);
      for (int k = 1; k < K; ++k) sum = hn::MulAdd(hn::Set(d, scale[k]), weights[k], sum);
      hn::StoreU(hn::Add(hn::LoadU(d, dx + r * dx_step + i), sum), d, dx + r * dx_step + i);
    }
  });
}

template <class T>
HWY_INLINE void combine_rows_of(RowsAt<T> w, std::int64_t outputs, RowsAt<float> dy, std::int64_t rows, std::int64_t n,
                                float* dx, std::int64_t dx_step) {
  constexpr int kOutputs = 8;
  for (std::int64_t r = 0; r < rows; ++r) std::fill_n(dx + r * dx_step, n, 0.0f);
  std::int64_t k = 0;
  for (; k + kOutputs <= outputs; k += kOutputs)
    combine_outputs<kOutputs>(w.from(k, 0), dy.from(0, k), rows, n, dx, dx_step);
  for (; k < outputs; ++k) combine_outputs<1>(w.from(k, 0), dy.from(0, k), rows, n, dx, dx_step);
}

void combine_rows(WeightRows w, std::int64_t outputs, RowsAt<float> dy, std::int64_t rows, std::int64_t n, float* dx,
                  std::int64_t dx_step) {
  with_weights(w, [&](auto typed) HWY_ATTR { combine_rows_of(typed, outputs, dy, rows, n, dx, dx_step); });
}

// V vectors of K rows of dw.
template <int K, int V, bool kPast, class D>
HWY_INLINE void outer_block(D d, RowsAt<float> dy, RowsAt<float> x, std::int64_t rows, float* dw,
                            std::int64_t dw_step) {
  const auto width = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<D> sums[K][V];
  for (int v = 0; v < V; ++v) {
    const auto values = hn::LoadU(d, x.at + v * width);
    for (int k = 0; k < K; ++k) sums[k][v] = hn::Mul(hn::Set(d, dy.at[k]), values);
  }
  for (std::int64_t r = 1; r < rows; ++r) {
    const float* const scale = dy.from(r, 0).at;
    for (int v = 0; v < V; ++v) {
      const auto values = hn::LoadU(d, x.from(r, v * width).at);
      for (int k = 0; k < K; ++k) sums[k][v] = hn::MulAdd(hn::Set(d, scale[k]), values, sums[k][v]);
    }
  }
  for (int k = 0; k < K; ++k) {
    for (int v = 0; v < V; ++v) {
      float* const to = dw + k * dw_step + v * width;
      if constexpr (kPast) {
        hn::Stream(sums[k][v], d, to);
      } else {
        hn::StoreU(sums[k][v], d, to);
      }
    }
  }
}

template <int K, bool kPast>
HWY_INLINE void outer_outputs(RowsAt<float> dy, RowsAt<float> x, std::int64_t rows, std::int64_t n, float* dw,
                              std::int64_t dw_step) {
  const hn::ScalableTag<float> d;
  const auto width = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + 2 * width <= n; i += 2 * width) outer_block<K, 2, kPast>(d, dy, x.from(0, i), rows, dw + i, dw_step);
  const hn::CappedTag<float, 1> one;
  for (; i < n; ++i) outer_block<K, 1, false>(one, dy, x.from(0, i), rows, dw + i, dw_step);
}

template <bool kPast>
HWY_INLINE void outer_all(RowsAt<float> dy, RowsAt<float> x, std::int64_t rows, std::int64_t outputs, std::int64_t n,
                          float* dw, std::int64_t dw_step) {
  constexpr int kOutputs = HWY_LANES(float) >= 16 ? 8 : 4;  // what the registers hold
  std::int64_t k = 0;
  for (; k + kOutputs <= outputs; k += kOutputs)
    outer_outputs<kOutputs, kPast>(dy.from(0, k), x, rows, n, dw + k * dw_step, dw_step);
  for (; k < outputs; ++k) outer_outputs<1, kPast>(dy.from(0, k), x, rows, n, dw + k * dw_step, dw_step);
}

void outer_rows(RowsAt<float> dy, RowsAt<float> x, std::int64_t rows, std::int64_t outputs, std::int64_t n, float* dw,
                std::int64_t dw_step, bool past_caches) {
  const bool lines = reinterpret_cast<std::uintptr_t>(dw) % 64 == 0 && dw_step % 16 == 0;
  if (past_caches && lines) {
    outer_all<true>(dy, x, rows, outputs, n, dw, dw_step);
    hwy::FlushStream();
  } else {
    outer_all<false>(dy, x, rows, outputs, n, dw, dw_step);
  }
}

}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device {

HWY_EXPORT(dot_rows);
HWY_EXPORT(combine_rows);
HWY_EXPORT(outer_rows);

void dot_few_rows(WeightRows w, std::int64_t outputs, RowsAt<float> x, std::int64_t rows, std::int64_t n, float* y,
                  std::int64_t y_step) {
  HWY_DYNAMIC_DISPATCH(dot_rows)(w, outputs, x, rows, n, y, y_step);
}

void combine_few_rows(WeightRows w, std::int64_t outputs, RowsAt<float> dy, std::int64_t rows, std::int64_t n,
                      float* dx, std::int64_t dx_step) {
  HWY_DYNAMIC_DISPATCH(combine_rows)(w, outputs, dy, rows, n, dx, dx_step);
}

void multiply_few_rows(RowsAt<float> dy, RowsAt<float> x, std::int64_t rows, std::int64_t outputs, std::int64_t n,
                       float* dw, std::int64_t dw_step, bool past_caches) {
  HWY_DYNAMIC_DISPATCH(outer_rows)(dy, x, rows, outputs, n, dw, dw_step, past_caches);
}

}  // namespace ridgeline::device
#endif  // HWY_ONCE
