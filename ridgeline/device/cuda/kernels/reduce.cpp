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

// A few long sums are computed in two steps: of chunks, then of their sums.
constexpr i64 kLongSum = 16384;

bool in_two(const Reduction& r) { return !r.maximum && r.outer * r.inner < 64 && r.reduced > kLongSum; }

i32 columns_of(i64 inner) {
  i32 columns = 1;
  while (columns < 32 && columns < inner) columns *= 2;
  return columns;
}

// A launch of all of `r`, or of its chunks.
template <class From, class To>
void give_sum(LaunchSink sink, const Reduction& r, const void* x, void* y, i64 reduced, i64 chunk, double factor) {
  const i32 columns = columns_of(r.inner);
  give<Reduce<From, To, false>>(sink, {in<From>(x), out<To>(y), r.outer, reduced, r.inner, chunk, factor, columns,
                                       Divisor(std::max<i64>(1, divided_up(r.inner, columns)))});
}

template <class T>
void give_maximum(LaunchSink sink, const Reduction& r, const void* x, void* y) {
  const i32 columns = columns_of(r.inner);
  give<Reduce<T, T, true>>(sink, {in<T>(x), out<T>(y), r.outer, r.reduced, r.inner, r.reduced, 1.0, columns,
                                  Divisor(std::max<i64>(1, divided_up(r.inner, columns)))});
}

std::size_t elements_behind(const Reduction& r) { return static_cast<std::size_t>(r.outer * r.inner); }

}  // namespace

std::size_t reduce_scratch(const Reduction& r) {
  if (!in_two(r)) return 0;
  return static_cast<std::size_t>(r.outer * divided_up(r.reduced, kLongSum) * r.inner) * sizeof(double);
}

void reduce(LaunchSink sink, const Reduction& r, const void* x, void* y, void* scratch) {
  with_type(r.type, [&]<class T>(T) {
    if (r.maximum) {
      give_maximum<T>(sink, r, x, y);
    } else if (in_two(r)) {
      const i64 chunks = divided_up(r.reduced, kLongSum);
      give_sum<T, double>(sink, r, x, scratch, r.reduced, kLongSum, 1.0);
      give_sum<double, T>(sink, r, scratch, y, chunks, chunks, r.factor);
    } else {
      give_sum<T, T>(sink, r, x, y, r.reduced, std::max<i64>(1, r.reduced), r.factor);
    }
  });
}

std::size_t reduce_scratch(std::span<const Reduction> steps) {
  if (steps.size() == 1) return reduce_scratch(steps[0]);
  std::size_t elements = 0;
  for (const Reduction& r : steps.first(steps.size() - 1)) elements += elements_behind(r);
  return elements * sizeof(double);
}

void reduce(LaunchSink sink, std::span<const Reduction> steps, const void* x, void* y, void* scratch) {
  if (steps.size() == 1) return reduce(sink, steps[0], x, y, scratch);
  auto* room = static_cast<double*>(scratch);
  with_type(steps[0].type, [&]<class T>(T) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Reduction& r = steps[i];
      const bool last = i + 1 == steps.size();
      void* const to = last ? y : room;
      if (r.maximum) {
        give_maximum<T>(sink, r, x, to);
      } else if (last) {
        give_sum<double, T>(sink, r, x, to, r.reduced, std::max<i64>(1, r.reduced), r.factor);
      } else if (i == 0) {
        give_sum<T, double>(sink, r, x, to, r.reduced, std::max<i64>(1, r.reduced), 1.0);
      } else {
        give_sum<double, double>(sink, r, x, to, r.reduced, std::max<i64>(1, r.reduced), 1.0);
      }
      x = to;
      room += elements_behind(r);
    }
  });
}

}  // namespace ridgeline::cuda
