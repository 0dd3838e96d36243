// ridgeline/device/cuda/kernels/with_word.h
//
// From numbers of bytes that are known at run time to the kernels that move such words. For the .cpp files of families.
#pragma once

#include <cstring>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cuda/kernels/block.h"

namespace ridgeline::cuda {

// run(Word()) for words of so many bytes.
template <class Run>
void with_word(std::size_t bytes, const Run& run) {
  switch (bytes) {
    case 1: return run(u8());
    case 2: return run(u16());
    case 4: return run(u32());
    case 8: return run(u64());
    case 16: return run(Quad());
    default: RIDGELINE_CHECK(false, "words have 1, 2, 4, 8 or 16 bytes");
  }
}

// A word of elements that all have the lowest bits of `element`.
template <class Word>
Word repeated(std::uint64_t element, std::size_t element_bytes) {
  unsigned char bytes[sizeof(Word)];
  for (std::size_t at = 0; at < sizeof(Word); at += element_bytes) std::memcpy(bytes + at, &element, element_bytes);
  return __builtin_bit_cast(Word, bytes);
}

}  // namespace ridgeline::cuda
