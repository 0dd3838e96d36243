// ridgeline/device/cpu/tiles/lines_avx512-inl.h
//
// What products of the machine's bf16 instructions do with lines of sums beside multiplying. Included only where the
// compiler's target is AVX-512; <immintrin.h> stands above.
#pragma once

#include <cstdint>

namespace ridgeline::device::tiles {

// From the second cache, to be written.
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
