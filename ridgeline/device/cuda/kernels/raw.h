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
template <class T, int V>
RIDGELINE_DEVICE void widen(const Raw<T, V>& raw, float (&to)[V]) {
  if constexpr (std::is_same_v<T, bfloat16> && V % 2 == 0) {
    RIDGELINE_UNROLL
    for (int i = 0; i < V / 2; ++i) {
      to[2 * i] = float_of(raw.at[i] << 16);
      to[2 * i + 1] = float_of(raw.at[i] & 0xffff0000u);
    }
  } else {
    widen(__builtin_bit_cast(Pack<T, V>, raw), to);
  }
}

}  // namespace ridgeline::cuda
