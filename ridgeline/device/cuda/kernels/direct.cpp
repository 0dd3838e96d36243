#include "ridgeline/device/cuda/kernels/direct.h"

#include "ridgeline/device/cuda/kernels/families.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/kernels/with_type.h"

namespace ridgeline::cuda {

RIDGELINE_DIRECT_KERNELS(RIDGELINE_SYMBOL)

std::span<const KernelRow* const> direct_rows() {
  static constexpr const KernelRow* kRows[] = {RIDGELINE_DIRECT_KERNELS(RIDGELINE_ROW)};
  return kRows;
}

namespace {

ConvolutionShape shape_of(const DirectShape& s) {
  const auto i = [](std::int64_t v) { return static_cast<i32>(v); };
  return {i(s.n), i(s.h),        i(s.w),        i(s.c),   i(s.oh),   i(s.ow),         i(s.k),          i(s.r),
          i(s.s), i(s.stride_h), i(s.stride_w), i(s.top), i(s.left), i(s.dilation_h), i(s.dilation_w), i(s.groups)};
}

template <class T>
Bias<T> bias_of(const Epilogue& e, DType type) {
  if (e.bias == nullptr) return {};
  if (e.bias_type == DType::f32) return {nullptr, in<float>(e.bias)};
  RIDGELINE_CHECK(e.bias_type == type, "a bias is of the operands' type or f32");
  return {in<T>(e.bias), nullptr};
}

}  // namespace

void direct_convolution(LaunchSink sink, const DirectShape& s, const void* x, const void* w, const Epilogue& e,
                        void* y) {
  with_types(s.type, s.result, [&]<class T, class To>(T, To) {
    give<DirectConvolution<T, To>>(
        sink, {in<T>(x), in<T>(w), bias_of<T>(e, s.type), in<To>(e.addend), out<To>(y), e.relu, shape_of(s),
               Divisor(s.k), Divisor(s.ow), Divisor(s.oh), s.n * s.oh * s.ow * s.k});
  });
}

void direct_data_gradient(LaunchSink sink, const DirectShape& s, const void* dy, const void* w, const void* gate,
                          void* dx) {
  with_types(s.type, s.result, [&]<class T, class To>(T, To) {
    give<DirectDataGradient<T, To>>(sink, {in<T>(dy), in<T>(w), in<To>(gate), out<To>(dx), shape_of(s), Divisor(s.c),
                                           Divisor(s.w), Divisor(s.h), s.n * s.h * s.w * s.c});
  });
}

void direct_weight_gradient(LaunchSink sink, const DirectShape& s, const void* x, const void* dy, void* dw) {
  with_types(s.type, s.result, [&]<class T, class To>(T, To) {
    give<DirectWeightGradient<T, To>>(sink,
                                      {in<T>(x), in<T>(dy), out<To>(dw), shape_of(s), Divisor(s.ow), Divisor(s.oh)});
  });
}

namespace {

void give_products(LaunchSink sink, const ProductShape& s, std::span<const ProductBatch> batch, const void* a,
                   const void* b, const Epilogue& e, void* y) {
  RIDGELINE_CHECK(batch.size() <= kProductAxes, "a batch of matrices has up to four axes");
  with_types(s.type, s.result, [&]<class T, class To>(T, To) {
    typename DirectProduct<T, To>::Parameters p{in<T>(a),         in<T>(b),   bias_of<T>(e, s.type),
                                                in<To>(e.addend), out<To>(y), e.relu,
                                                s.a_row,          s.a_column, s.b_row,
                                                s.b_column,       0,          s.inner};
    p.elements = s.rows * s.columns;
    p.columns = Divisor(std::max<i64>(1, s.columns));
    p.rows = Divisor(std::max<i64>(1, s.rows));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const ProductBatch& axis = batch[batch.size() - 1 - i];
      p.elements *= axis.extent;
      p.batch[i] = Divisor(std::max<i64>(1, axis.extent));
      p.a_step[i] = axis.a_step;
      p.b_step[i] = axis.b_step;
    }
    give<DirectProduct<T, To>>(sink, p);
  });
}

}  // namespace

void direct_product(LaunchSink sink, const ProductShape& s, const void* a, const void* b, const Epilogue& e, void* y) {
  give_products(sink, s, {}, a, b, e, y);
}

void direct_products(LaunchSink sink, const ProductShape& s, std::span<const ProductBatch> batch, const void* a,
                     const void* b, void* y) {
  give_products(sink, s, batch, a, b, {}, y);
}

}  // namespace ridgeline::cuda
