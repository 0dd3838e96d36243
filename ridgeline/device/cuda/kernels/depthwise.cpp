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

// That of the convolution of dy with the taps turned round which is the gradient with respect to the data at stride 1.
PoolShape turned_shape_of(const DirectShape& s) {
  const auto i = [](std::int64_t v) { return static_cast<i32>(v); };
  return {i(s.n), i(s.oh), i(s.ow), i(s.c), i(s.h), i(s.w), 3, 3, 1, 1, i(2 - s.top), i(2 - s.left)};
}

template <class T>
Bias<T> depthwise_bias(const Epilogue& e) {
  if (e.bias == nullptr) return {};
  if (e.bias_type == DType::f32) return {nullptr, in<float>(e.bias)};
  return {in<T>(e.bias), nullptr};
}

// Channels and pixels of a thread, stride.
template <int kChannels, int kAcross, int kBy>
struct Form {
  static constexpr int V = kChannels, kPixels = kAcross, kStride = kBy;
};
using AnyForm = Form<1, 1, 0>;

// run(Form): that of `By` the stride where it takes the shape.
template <class T, class AtOne, class AtTwo, class Run>
void with_form(const DirectShape& s, std::initializer_list<const void*> images, const Run& run) {
  const auto takes = [&](std::int64_t stride, int width) {
    return s.stride_h == stride && s.stride_w == stride && s.c % width == 0 && aligned_to(sizeof(T) * width, images);
  };
  if (takes(1, AtOne::V)) return run(AtOne());
  if (takes(2, AtTwo::V)) return run(AtTwo());
  run(AnyForm());
}

constexpr i64 kForwardThreads = 400'000;  // some six times as many as run at once

template <class F>
Strips strips_of(std::int64_t n, std::int64_t rows, std::int64_t columns, std::int64_t c, i64 wanted) {
  return {n, rows, divided_up(columns, F::kPixels), c, F::V, wanted};
}

template <class T, class F>
void give_depthwise(LaunchSink sink, const void* x, const void* w, const Bias<T>& bias, const void* gate, void* y,
                    bool relu, bool turned, const PoolShape& s) {
  give<Depthwise<T, F::V, F::kPixels, F::kStride>>(sink,
                                                   {in<T>(x), in<T>(w), bias, in<T>(gate), out<T>(y), relu, turned, s,
                                                    strips_of<F>(s.n, s.oh, s.ow, s.c, kForwardThreads)});
}

using ForwardForm = Form<4, 2, 1>;
using ForwardFormByTwo = Form<4, 2, 2>;
using DataForm = Form<4, 2, 2>;
template <class T, int kBy>
using WeightForm = Form<2, sizeof(T) == 2 ? 4 : 2, kBy>;

// How the weights' gradient is divided among blocks.
struct WeightChunks {
  Strips strips;
  u32 rounds = 1;
  u32 count() const { return strips.groups(rounds); }
};
template <class F>
WeightChunks weight_chunks(const DirectShape& s) {
  WeightChunks chunks;
  chunks.strips = strips_of<F>(s.n, s.oh, s.ow, s.c, kFullCard * kDepthwiseThreads);
  const i64 blocks = i64{chunks.strips.groups()} * chunks.strips.tiles.value;
  chunks.rounds = static_cast<u32>(std::max<i64>(1, (blocks + kFullCard / 2) / kFullCard));
  return chunks;
}

}  // namespace

bool is_depthwise(const DirectShape& s) {
  return s.groups == s.c && s.k == s.c && s.r == 3 && s.s == 3 && s.dilation_h == 1 && s.dilation_w == 1;
}

void depthwise(LaunchSink sink, const DirectShape& s, const void* x, const void* w, const Epilogue& e, void* y) {
  RIDGELINE_CHECK(s.result == s.type && e.addend == nullptr, "depthwise kernels add nothing and keep the type");
  with_type(s.type, [&]<class T>(T) {
    with_form<T, ForwardForm, ForwardFormByTwo>(s, {x, y}, [&]<class F>(F) {
      give_depthwise<T, F>(sink, x, w, depthwise_bias<T>(e), nullptr, y, e.relu, false, depthwise_shape_of(s));
    });
  });
}

void depthwise_data_gradient(LaunchSink sink, const DirectShape& s, const void* dy, const void* w, const void* gate,
                             void* dx) {
  RIDGELINE_CHECK(s.result == s.type, "depthwise kernels keep the type");
  with_type(s.type, [&]<class T>(T) {
    with_form<T, ForwardForm, DataForm>(s, {dy, gate, dx}, [&]<class F>(F) {
      if constexpr (F::kStride == 1) {
        give_depthwise<T, F>(sink, dy, w, Bias<T>{}, gate, dx, false, true, turned_shape_of(s));
      } else {
        const bool two = F::kStride == 2;
        const auto windows = [&](std::int64_t pixels, std::int64_t pad) {
          return two ? (pixels - 1 + pad) / 2 + 1 : pixels;
        };
        give<DepthwiseDataGradient<T, F::V, F::kPixels, F::kStride>>(
            sink, {in<T>(dy), in<T>(w), in<T>(gate), out<T>(dx), depthwise_shape_of(s),
                   strips_of<F>(s.n, windows(s.h, s.top), windows(s.w, s.left), s.c, kForwardThreads),
                   Divisor(s.stride_h), Divisor(s.stride_w)});
      }
    });
  });
}

// The size does not depend on addresses: also that of the form for any.
std::size_t depthwise_weight_gradient_scratch(const DirectShape& s) {
  std::size_t scratch = 0;
  with_type(s.type, [&]<class T>(T) {
    const auto chunks = [&]<class F>(F) { return weight_chunks<F>(s).count(); };
    u32 most = 0;
    with_form<T, WeightForm<T, 1>, WeightForm<T, 2>>(
        s, {}, [&](auto form) { most = std::max(chunks(form), chunks(AnyForm())); });
    scratch = std::size_t{most} * kDepthwiseTaps * static_cast<std::size_t>(s.c) * sizeof(float);
  });
  return scratch;
}

void depthwise_weight_gradient(LaunchSink sink, const DirectShape& s, const void* x, const void* dy, void* dw,
                               void* scratch) {
  with_types(s.type, s.result, [&]<class T, class To>(T, To) {
    with_form<T, WeightForm<T, 1>, WeightForm<T, 2>>(s, {x, dy}, [&]<class F>(F) {
      const WeightChunks chunks = weight_chunks<F>(s);
      give<DepthwiseWeightSums<T, F::V, F::kPixels, F::kStride>>(
          sink, {in<T>(x), in<T>(dy), out<float>(scratch), depthwise_shape_of(s), chunks.strips, chunks.rounds});
      give<DepthwiseWeightTotals<To>>(sink, {in<float>(scratch), chunks.count(), s.c, out<To>(dw)});
    });
  });
}

}  // namespace ridgeline::cuda
