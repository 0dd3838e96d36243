// ridgeline/device/cuda/kernels/with_word.h
//
// Calls the kernels that move words of a size that is known at run time. For the .cpp files of families.
#pragma once

#include <cstring>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cuda/kernels/words.h"

namespace ridgeline::cuda {

// Calls run(Word()) for words of that many bytes.
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

// Eight bytes of elements that all have the lowest bits of `element`, for word_of().
inline u64 repeated(std::uint64_t element, std::size_t element_bytes) {
  u64 bits = 0;
  for (std::size_t at = 0; at < sizeof bits; at += element_bytes)
    std::memcpy(reinterpret_cast<unsigned char*>(&bits) + at, &element, element_bytes);
  return bits;
}

}  // namespace ridgeline::cuda
