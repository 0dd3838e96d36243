#include "ridgeline/device/cuda/kernels/softmax.h"

#include "ridgeline/device/cuda/kernels/families.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/kernels/with_type.h"

namespace ridgeline::cuda {

RIDGELINE_SOFTMAX_KERNELS(RIDGELINE_SYMBOL)

std::span<const KernelRow* const> softmax_rows() {
  static constexpr const KernelRow* kRows[] = {RIDGELINE_SOFTMAX_KERNELS(RIDGELINE_ROW)};
  return kRows;
}

namespace {

template <class T>
SoftmaxTargets<T> targets_of(const Targets& t) {
  return {t.labels, in<T>(t.shares), in<T>(t.mask), t.smoothing};
}

}  // namespace

void softmax_cross_entropy(LaunchSink sink, DType type, const void* x, const Targets& targets, void* loss,
                           void* probabilities, void* bad_labels, std::int64_t rows, std::int64_t classes) {
  with_type(type, [&]<class T>(T) {
    give<SoftmaxLoss<T>>(sink, {in<T>(x), out<T>(probabilities), out<T>(loss), targets_of<T>(targets),
                                out<u32>(bad_labels), rows, classes});
  });
}

void softmax_cross_entropy_gradient(LaunchSink sink, DType type, const void* probabilities, const Targets& targets,
                                    const void* dloss, void* dx, std::int64_t rows, std::int64_t classes) {
  with_type(type, [&]<class T>(T) {
    give<SoftmaxLossGradient<T>>(
        sink, {in<T>(probabilities), in<T>(dloss), out<T>(dx), targets_of<T>(targets), rows, classes});
  });
}

std::size_t top_k_scratch(std::int64_t rows) { return static_cast<std::size_t>(rows) * sizeof(float); }

void top_k_accuracy(LaunchSink sink, DType type, const void* x, const std::int32_t* labels, const void* mask,
                    std::int64_t k, float* hits, void* bad_labels, std::int64_t rows, std::int64_t classes,
                    void* scratch) {
  with_type(type, [&]<class T>(T) {
    give<TopKHits<T>>(sink,
                      {in<T>(x), labels, in<T>(mask), rows, classes, k, out<float>(scratch), out<u32>(bad_labels)});
  });
  reduce(sink, {DType::f32, 1, rows, 1}, scratch, hits, nullptr);
}

}  // namespace ridgeline::cuda
