#include "ridgeline/device/cuda/kernels/gather.h"

#include "ridgeline/device/cuda/kernels/families.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/device/cuda/kernels/with_type.h"
#include "ridgeline/device/cuda/kernels/with_word.h"

namespace ridgeline::cuda {

RIDGELINE_GATHER_KERNELS(RIDGELINE_SYMBOL)

std::span<const KernelRow* const> gather_rows() {
  static constexpr const KernelRow* kRows[] = {RIDGELINE_GATHER_KERNELS(RIDGELINE_ROW)};
  return kRows;
}

void gather(LaunchSink sink, const GatherShape& s, std::size_t element_bytes, std::uint64_t outside, const void* table,
            const std::int32_t* indices, void* y) {
  if (s.outer * s.count * s.inner == 0) return;
  // Elements of a row that one access moves.
  i64 wide = 1;
  while (element_bytes * static_cast<std::size_t>(wide) < 16 && s.inner % (2 * wide) == 0 &&
         aligned_to(element_bytes * static_cast<std::size_t>(2 * wide), {table, y})) {
    wide *= 2;
  }
  with_word(element_bytes * static_cast<std::size_t>(wide), [&]<class Word>(Word) {
    give<Gather<Word>>(sink,
                       {in<Word>(table), indices, out<Word>(y), s.outer, s.rows, s.outer * s.count * s.inner / wide,
                        Divisor(s.inner / wide), Divisor(s.count), repeated(outside, element_bytes)});
  });
}

void gather_gradient(LaunchSink sink, const GatherShape& s, DType type, const void* dy, const std::int32_t* indices,
                     void* dtable) {
  with_type(type, [&]<class T>(T) {
    using Body = GatherGradient<T>;
    const i64 tiles = divided_up(s.inner, Body::kTile);
    if (s.outer * s.rows * tiles == 0) return;
    give<Body>(
        sink, {in<T>(dy), indices, out<T>(dtable), s.outer, s.rows, s.count, s.inner, Divisor(tiles), Divisor(s.rows)});
  });
}

}  // namespace ridgeline::cuda
