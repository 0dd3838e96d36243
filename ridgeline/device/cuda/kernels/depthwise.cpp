#include "ridgeline/device/cuda/kernels/depthwise.h"

#include "ridgeline/device/cuda/kernels/families.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/kernels/with_type.h"

namespace ridgeline::cuda {

RIDGELINE_DEPTHWISE_KERNELS(RIDGELINE_SYMBOL)

std::span<const KernelRow* const> depthwise_rows() {
  static constexpr const KernelRow* kRows[] = {RIDGELINE_DEPTHWISE_KERNELS(RIDGELINE_ROW)};
  return kRows;
}

namespace {

PoolShape depthwise_shape_of(const DirectShape& s) {
  const auto i = [](std::int64_t v) { return static_cast<i32>(v); };
  return {i(s.n), i(s.h), i(s.w), i(s.c), i(s.oh), i(s.ow), 3, 3, i(s.stride_h), i(s.stride_w), i(s.top), i(s.left)};
}

template <class T>
Bias<T> depthwise_bias(const Epilogue& e) {
  if (e.bias == nullptr) return {};
  if (e.bias_type == DType::f32) return {nullptr, in<float>(e.bias)};
  return {in<T>(e.bias), nullptr};
}

constexpr int kWidth = 4;

// run(V): channels of a thread.
template <class T, class Run>
void with_depthwise_width(const DirectShape& s, std::initializer_list<const void*> images, const Run& run) {
  if (s.c % kWidth == 0 && aligned_to(sizeof(T) * kWidth, images))
    run(std::integral_constant<int, kWidth>());
  else
    run(std::integral_constant<int, 1>());
}

RowTiles tiles_of(const DirectShape& s, int width) { return {s.n * s.oh * s.ow, s.c, width, kFullCard / 2, 8}; }

}  // namespace

bool is_depthwise(const DirectShape& s) {
  return s.groups == s.c && s.k == s.c && s.r == 3 && s.s == 3 && s.dilation_h == 1 && s.dilation_w == 1;
}

void depthwise(LaunchSink sink, const DirectShape& s, const void* x, const void* w, const Epilogue& e, void* y) {
  RIDGELINE_CHECK(s.result == s.type && e.addend == nullptr, "depthwise kernels add nothing and keep the type");
  with_type(s.type, [&]<class T>(T) {
    with_depthwise_width<T>(s, {x, y}, [&](auto width) {
      constexpr int V = decltype(width)::value;
      give<Depthwise<T, V>>(sink, {in<T>(x), in<T>(w), depthwise_bias<T>(e), out<T>(y), e.relu, depthwise_shape_of(s),
                                   PixelThreads(s.n, s.oh, divided_up(s.ow, kDepthwisePixels), s.c, V)});
    });
  });
}

void depthwise_data_gradient(LaunchSink sink, const DirectShape& s, const void* dy, const void* w, const void* gate,
                             void* dx) {
  RIDGELINE_CHECK(s.result == s.type, "depthwise kernels keep the type");
  with_type(s.type, [&]<class T>(T) {
    with_depthwise_width<T>(s, {dy, gate, dx}, [&](auto width) {
      constexpr int V = decltype(width)::value;
      give<DepthwiseDataGradient<T, V>>(sink, {in<T>(dy), in<T>(w), in<T>(gate), out<T>(dx), depthwise_shape_of(s),
                                               PixelThreads(s.n, s.h, divided_up(s.w, kDepthwisePixels), s.c, V),
                                               Divisor(s.stride_h), Divisor(s.stride_w)});
    });
  });
}

std::size_t depthwise_weight_gradient_scratch(const DirectShape& s) {
  const u32 chunks = std::max(tiles_of(s, 1).chunks, tiles_of(s, kWidth).chunks);
  return std::size_t{chunks} * kDepthwiseTaps * static_cast<std::size_t>(s.c) * sizeof(float);
}

void depthwise_weight_gradient(LaunchSink sink, const DirectShape& s, const void* x, const void* dy, void* dw,
                               void* scratch) {
  with_types(s.type, s.result, [&]<class T, class To>(T, To) {
    with_depthwise_width<T>(s, {x, dy}, [&](auto width) {
      constexpr int V = decltype(width)::value;
      const RowTiles tiles = tiles_of(s, V);
      give<DepthwiseWeightSums<T, V>>(
          sink, {in<T>(x), in<T>(dy), out<float>(scratch), depthwise_shape_of(s), Divisor(s.ow), Divisor(s.oh), tiles});
      give<DepthwiseWeightTotals<To>>(sink, {in<float>(scratch), tiles.chunks, s.c, out<To>(dw)});
    });
  });
}

}  // namespace ridgeline::cuda
