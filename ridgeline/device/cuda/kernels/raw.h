// ridgeline/device/cuda/kernels/raw.h
//
// Neighbouring elements that are on their way: kernels that read ahead keep them as they came.
#pragma once

#include <type_traits>

#include "ridgeline/device/cuda/kernels/block.h"

namespace ridgeline::cuda {

// V elements as they lie in memory. Words stay in registers until they are widened, while elements of 16 bits would be
// taken apart as soon as they arrive, which waits for them.
template <class T, int V>
struct alignas(sizeof(T) * V) Raw {
  static constexpr bool kWords = sizeof(T) * V % 4 == 0;
  using Unit = std::conditional_t<kWords, u32, u16>;
  Unit at[sizeof(T) * V / sizeof(Unit)];
};
template <int V, class T>
RIDGELINE_DEVICE Raw<T, V> load_raw(const T* from) {
  return *reinterpret_cast<const Raw<T, V>*>(from);
}
template <class T, int V>
RIDGELINE_DEVICE void widen(const Raw<T, V>& raw, float (&to)[V]) {
  if constexpr (kWidensPairs<T, V>) {
    widen_pairs<T>(raw.at, to);
  } else {
    widen(__builtin_bit_cast(Pack<T, V>, raw), to);
  }
}

}  // namespace ridgeline::cuda
