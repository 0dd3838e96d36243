#include "ridgeline/device/cuda/kernels/axis_softmax.h"

#include "ridgeline/device/cuda/kernels/families.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/kernels/with_type.h"

namespace ridgeline::cuda {

RIDGELINE_AXIS_SOFTMAX_KERNELS(RIDGELINE_SYMBOL)

std::span<const KernelRow* const> axis_softmax_rows() {
  static constexpr const KernelRow* kRows[] = {RIDGELINE_AXIS_SOFTMAX_KERNELS(RIDGELINE_ROW)};
  return kRows;
}

namespace {

AxisRows rows_of(const SoftmaxAxis& s) {
  return {s.outer * s.inner, s.classes, Divisor(std::max<i64>(1, s.inner)), RowLanes::of(s.classes, s.inner > 1)};
}

}  // namespace

void softmax(LaunchSink sink, const SoftmaxAxis& s, const void* x, void* y) {
  if (s.classes == 0) return;
  with_type(s.type, [&]<class T>(T) { give<AxisSoftmax<T>>(sink, {in<T>(x), out<T>(y), rows_of(s)}); });
}

void softmax_gradient(LaunchSink sink, const SoftmaxAxis& s, const void* y, const void* dy, void* dx) {
  if (s.classes == 0) return;
  with_type(s.type,
            [&]<class T>(T) { give<AxisSoftmaxGradient<T>>(sink, {in<T>(y), in<T>(dy), out<T>(dx), rows_of(s)}); });
}

}  // namespace ridgeline::cuda
