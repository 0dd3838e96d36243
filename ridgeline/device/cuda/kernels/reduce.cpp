#include "ridgeline/device/cuda/kernels/reduce.h"

#include "ridgeline/device/cuda/kernels/families.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/kernels/with_type.h"

namespace ridgeline::cuda {

RIDGELINE_REDUCE_KERNELS(RIDGELINE_SYMBOL)

std::span<const KernelRow* const> reduce_rows() {
  static constexpr const KernelRow* kRows[] = {RIDGELINE_REDUCE_KERNELS(RIDGELINE_ROW)};
  return kRows;
}

namespace {

// Where few sums are long, they are made in two steps: of chunks, then of those.
constexpr i64 kLongSum = 16384;

bool in_two(const Reduction& r) { return !r.maximum && r.outer * r.inner < 64 && r.reduced > kLongSum; }

i32 columns_of(i64 inner) {
  i32 columns = 1;
  while (columns < 32 && columns < inner) columns *= 2;
  return columns;
}

}  // namespace

std::size_t reduce_scratch(const Reduction& r) {
  if (!in_two(r)) return 0;
  return static_cast<std::size_t>(r.outer * divided_up(r.reduced, kLongSum) * r.inner) * sizeof(double);
}

void reduce(LaunchSink sink, const Reduction& r, const void* x, void* y, void* scratch) {
  const i32 columns = columns_of(r.inner);
  const i64 all = std::max<i64>(1, r.reduced);
  with_type(r.type, [&]<class T>(T) {
    if (r.maximum) {
      give<Reduce<T, T, true>>(sink, {in<T>(x), out<T>(y), r.outer, all, r.inner, all, 1.0, columns});
    } else if (in_two(r)) {
      give<Reduce<T, double, false>>(
          sink, {in<T>(x), out<double>(scratch), r.outer, r.reduced, r.inner, kLongSum, 1.0, columns});
      const i64 chunks = divided_up(r.reduced, kLongSum);
      give<Reduce<double, T, false>>(
          sink, {in<double>(scratch), out<T>(y), r.outer, chunks, r.inner, chunks, r.factor, columns});
    } else {
      give<Reduce<T, T, false>>(sink, {in<T>(x), out<T>(y), r.outer, r.reduced, r.inner, all, r.factor, columns});
    }
  });
}

}  // namespace ridgeline::cuda
