// ridgeline/device/cpu/tiles/lines_avx512-inl.h
//
// How products by the machine's bf16 instructions handle lines of sums while multiplying. Included only where the
// compiler's target is AVX-512; <immintrin.h> stands above.
#pragma once

#include <cstdint>

namespace ridgeline::device::tiles {

// Prefetches lines from the second-level cache for writing.
[[gnu::always_inline]] inline void fetch_lines(const float* from, std::int64_t lines) {
  for (std::int64_t line = 0; line < lines; ++line) __builtin_prefetch(from + line * 16, 1, 3);
}

[[gnu::always_inline]] inline void add_sum_lines(const float* from, float* onto, std::int64_t lines, bool add) {
  for (std::int64_t line = 0; line < lines; ++line, from += 16, onto += 16) {
    const __m512 sums = _mm512_load_ps(from);
    _mm512_store_ps(onto, add ? _mm512_add_ps(_mm512_load_ps(onto), sums) : sums);
  }
}

}  // namespace ridgeline::device::tiles
