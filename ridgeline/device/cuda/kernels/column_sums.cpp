#include "ridgeline/device/cuda/kernels/column_sums.h"

#include "ridgeline/device/cuda/kernels/families.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/kernels/with_type.h"

namespace ridgeline::cuda {

RIDGELINE_COLUMN_SUMS_KERNELS(RIDGELINE_SYMBOL)

std::span<const KernelRow* const> column_sums_rows() {
  static constexpr const KernelRow* kRows[] = {RIDGELINE_COLUMN_SUMS_KERNELS(RIDGELINE_ROW)};
  return kRows;
}

namespace {

RowTiles tiles_of(std::int64_t rows, std::int64_t channels, int width) { return {rows, channels, width, kOneWave, 8}; }

}  // namespace

std::size_t column_sums_scratch(DType, std::int64_t rows, std::int64_t channels) {
  std::size_t chunks = 0;
  for (int width : {1, 4, 8}) chunks = std::max<std::size_t>(chunks, tiles_of(rows, channels, width).chunks);
  return chunks * static_cast<std::size_t>(channels) * sizeof(float);
}

void column_sums(LaunchSink sink, DType type, const void* x, std::int64_t rows, std::int64_t channels, double factor,
                 DType result, void* y, void* scratch) {
  with_type(type, [&]<class T>(T) {
    const bool wide = channels % kWide<T> == 0 && aligned_to(16, {x});
    const RowTiles tiles = tiles_of(rows, channels, wide ? kWide<T> : 1);
    if (wide)
      give<ColumnSums<T, kWide<T>>>(sink, {in<T>(x), out<float>(scratch), tiles});
    else
      give<ColumnSums<T, 1>>(sink, {in<T>(x), out<float>(scratch), tiles});
    with_type(result, [&]<class To>(To) {
      give<ColumnTotals<To>>(sink, {in<float>(scratch), tiles.chunks, channels, factor, out<To>(y)});
    });
  });
}

}  // namespace ridgeline::cuda
