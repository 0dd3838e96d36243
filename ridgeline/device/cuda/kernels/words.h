// ridgeline/device/cuda/kernels/words.h
//
// Words of any meaning that are moved, and a word that replaces missing elements. Parameters hold it as 8 bytes: a
// member that is aligned to 16 makes g++ 12 clear other members as if they were padding (give() in row.h).
#pragma once

#include "ridgeline/device/cuda/kernels/block.h"

namespace ridgeline::cuda {

// The lowest bytes of `bits`, or these twice.
template <class Word>
RIDGELINE_DEVICE Word word_of(u64 bits) {
  if constexpr (sizeof(Word) == 16) {
    const u32 low = static_cast<u32>(bits), high = static_cast<u32>(bits >> 32);
    return {{low, high, low, high}};
  } else {
    return static_cast<Word>(bits);
  }
}

}  // namespace ridgeline::cuda
