#include <emmintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ridgeline/comm/shared/stores.h"

namespace ridgeline::comm {

void store_past_the_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::size_t head = std::min(bytes, (16 - reinterpret_cast<std::uintptr_t>(to) % 16) % 16);
  std::memcpy(to, from, head);
  std::size_t at = head;
  for (; at + 16 <= bytes; at += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
  std::memcpy(to + at, from + at, bytes - at);
}

void finish_stores() { _mm_sfence(); }

}  // namespace ridgeline::comm
