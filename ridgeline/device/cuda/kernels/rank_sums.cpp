#include "ridgeline/device/cuda/kernels/rank_sums.h"

#include "ridgeline/device/cuda/kernels/families.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/kernels/with_type.h"

namespace ridgeline::cuda {

RIDGELINE_RANK_SUMS_KERNELS(RIDGELINE_SYMBOL)

std::span<const KernelRow* const> rank_sums_rows() {
  static constexpr const KernelRow* kRows[] = {RIDGELINE_RANK_SUMS_KERNELS(RIDGELINE_ROW)};
  return kRows;
}

bool takes_rank_sums(DType type, int ranks) {
  return (type == DType::f32 || type == DType::bf16 || type == DType::f16) && ranks >= 2 &&
         ranks <= RankSums<float>::kMostRanks;
}

void rank_sums(LaunchSink sink, const RankValues& values, const void* own, const void* others, void* result) {
  RIDGELINE_CHECK(takes_rank_sums(values.type, values.ranks), "ranks and a type that are summed here");
  with_type(values.type, [&]<class T>(T) {
    const bool wide = aligned_to(16, {own, others, result}) && values.stride % kWide<T> == 0;
    const float factor = values.mean ? 1.0f / static_cast<float>(values.ranks) : 1.0f;
    give<RankSums<T>>(sink, {in<T>(own), in<T>(others), out<T>(result), values.elements, values.stride, values.ranks,
                             values.rank, factor, wide});
  });
}

}  // namespace ridgeline::cuda
