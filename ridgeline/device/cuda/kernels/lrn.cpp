#include "ridgeline/device/cuda/kernels/lrn.h"

#include "ridgeline/device/cuda/kernels/families.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/kernels/with_type.h"

namespace ridgeline::cuda {

RIDGELINE_LRN_KERNELS(RIDGELINE_SYMBOL)

std::span<const KernelRow* const> lrn_rows() {
  static constexpr const KernelRow* kRows[] = {RIDGELINE_LRN_KERNELS(RIDGELINE_ROW)};
  return kRows;
}

namespace {

LrnShape shape_of(const Normalisation& n) {
  RIDGELINE_CHECK(n.reach <= kMostReach && kMostReach == LrnGradient<float>::kMaxReach, "the window is too wide");
  return {n.elements,
          Divisor(n.channels),
          static_cast<i32>(n.reach),
          static_cast<float>(n.bias),
          static_cast<float>(n.share),
          static_cast<float>(n.beta)};
}

}  // namespace

void local_response_norm(LaunchSink sink, const Normalisation& norm, const void* x, void* y) {
  with_type(norm.type, [&]<class T>(T) { give<Lrn<T>>(sink, {in<T>(x), out<T>(y), shape_of(norm)}); });
}

void local_response_norm_gradient(LaunchSink sink, const Normalisation& norm, const void* x, const void* dy, void* dx) {
  with_type(norm.type,
            [&]<class T>(T) { give<LrnGradient<T>>(sink, {in<T>(x), in<T>(dy), out<T>(dx), shape_of(norm)}); });
}

}  // namespace ridgeline::cuda
