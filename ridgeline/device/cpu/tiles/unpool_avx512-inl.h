// ridgeline/device/cpu/tiles/unpool_avx512-inl.h
//
// The move that computes rows of max pooling's gradient (TileMoves::unpool) by AVX-512 with bf16. Included only where
// that is the compiler's target, after <immintrin.h>.
#pragma once

#include <cstdint>

#include "ridgeline/device/cpu/tiles/tiles.h"

namespace ridgeline::device::tiles {

// The contributions of 32 channels of a window, or of `channels` of them, to the pixel at a position.
template <bool kWhole>
[[gnu::always_inline]] inline __m512i chosen(const bfloat16* dy, const std::uint8_t* index, std::int64_t tap,
                                             __mmask32 channels) {
  const __m256i wanted = _mm256_set1_epi8(static_cast<char>(tap));
  if constexpr (kWhole) {
    const __m256i where = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(index));
    return _mm512_maskz_loadu_epi16(_mm256_cmpeq_epi8_mask(where, wanted), dy);
  }
  const __m256i where = _mm256_maskz_loadu_epi8(channels, index);
  return _mm512_maskz_loadu_epi16(_mm256_mask_cmpeq_epi8_mask(channels, where, wanted), dy);
}

// One or two windows in a row and in a column, as constants, or any number of them: 0. Channels of even and of odd
// numbers are the halves of f32 lanes.
template <int kRows, int kColumns, bool kWhole>
[[gnu::always_inline]] inline __m512i unpool_channels(const PooledRow& w, std::int64_t columns, std::int64_t at,
                                                      std::int64_t tap, __mmask32 channels) {
  if constexpr (kRows * kColumns == 1) return chosen<kWhole>(w.dy + at, w.index + at, tap, channels);
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
  __m512 even = _mm512_setzero_ps(), odd = even;
#pragma GCC unroll 2
  for (std::int64_t i = 0; i < (kRows > 0 ? kRows : w.rows); ++i) {
#pragma GCC unroll 2
    for (std::int64_t j = 0; j < (kColumns > 0 ? kColumns : columns); ++j) {
      const std::int64_t from = at + i * w.row_step + j * w.pixel_step;
      const __m512i both =
          chosen<kWhole>(w.dy + from, w.index + from, tap - i * w.row_taps - j * w.column_taps, channels);
      const __m512 low_half = _mm512_castsi512_ps(_mm512_slli_epi32(both, 16));
      const __m512 high_half = _mm512_castsi512_ps(_mm512_and_si512(both, high));
      const bool first = kRows * kColumns > 0 && i + j == 0;
      even = first ? low_half : _mm512_add_ps(even, low_half);
      odd = first ? high_half : _mm512_add_ps(odd, high_half);
    }
  }
  alignas(64) static constexpr std::uint16_t kOrder[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                           21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                           11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return _mm512_permutexvar_epi16(_mm512_load_si512(kOrder), reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(odd, even)));
}

template <int kRows, int kColumns>
[[gnu::always_inline]] inline void unpool_pixel(const PooledRow& w, std::int64_t columns, std::int64_t at,
                                                std::int64_t tap, std::int64_t channels, bfloat16* to) {
  std::int64_t c = 0;
  for (; c + 32 <= channels; c += 32)
    _mm512_storeu_si512(to + c, unpool_channels<kRows, kColumns, true>(w, columns, at + c, tap, 0));
  if (c == channels) return;
  const __mmask32 left = (__mmask32{1} << (channels - c)) - 1;
  _mm512_mask_storeu_epi16(to + c, left, unpool_channels<kRows, kColumns, false>(w, columns, at + c, tap, left));
}

template <int kRows>
inline void unpool_row(const PooledRow& row, std::int64_t channels, bfloat16* to, std::int64_t to_step) {
  const PooledRow w = row;  // a copy, so that stores cannot change it
  std::int64_t tap = w.tap;
  for (const auto& [left, right] : w.columns) {
    const std::int64_t at = left * w.pixel_step, here = tap - left * w.column_taps;
    if (kRows > 0 && right - left == 1) {
      unpool_pixel<kRows, 1>(w, 1, at, here, channels, to);
    } else if (kRows > 0 && right - left == 2) {
      unpool_pixel<kRows, 2>(w, 2, at, here, channels, to);
    } else {
      unpool_pixel<0, 0>(w, right - left, at, here, channels, to);
    }
    ++tap;
    to += to_step;
  }
}

inline void unpool(const PooledRow& row, std::int64_t channels, bfloat16* to, std::int64_t to_step) {
  if (row.rows == 1) return unpool_row<1>(row, channels, to, to_step);
  if (row.rows == 2) return unpool_row<2>(row, channels, to, to_step);
  unpool_row<0>(row, channels, to, to_step);
}

}  // namespace ridgeline::device::tiles
