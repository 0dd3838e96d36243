#include "ridgeline/device/cuda/kernels/dropout.h"

#include "ridgeline/device/cuda/kernels/families.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/kernels/with_type.h"

namespace ridgeline::cuda {

RIDGELINE_DROPOUT_KERNELS(RIDGELINE_SYMBOL)

std::span<const KernelRow* const> dropout_rows() {
  static constexpr const KernelRow* kRows[] = {RIDGELINE_DROPOUT_KERNELS(RIDGELINE_ROW)};
  return kRows;
}

void dropout(LaunchSink sink, DType type, const void* x, void* y, const std::int64_t* step, std::uint64_t key,
             double keep, std::int64_t elements) {
  static_assert(sizeof(i64) == sizeof(std::int64_t));
  with_type(type, [&]<class T>(T) {
    give<Dropout<T>>(sink, {in<T>(x), out<T>(y), reinterpret_cast<const i64*>(step), key, static_cast<float>(keep),
                            elements, aligned_to(16, {x, y})});
  });
}

}  // namespace ridgeline::cuda
