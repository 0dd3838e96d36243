#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "ridgeline/device/cpu/tiles/tiles.h"

// The moves of the implementations that multiply by the machine's bf16 instructions. What follows is compiled for
// AVX-512 with bf16, and runs only where the active instruction set has it. Nothing that other files share may be
// compiled so, hence the includes come before.
#pragma GCC push_options
#pragma GCC diagnostic ignored "-Wuninitialized"  // false, in gcc 12's own headers (gcc bug 105593)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")

#include "ridgeline/device/cpu/tiles/unpool_avx512-inl.h"

namespace ridgeline::device::tiles {
namespace {

__mmask32 first32(std::int64_t n) { return n >= 32 ? ~__mmask32{0} : (__mmask32{1} << n) - 1; }
__mmask16 first16(std::int64_t n) { return static_cast<__mmask16>(n >= 16 ? 0xffff : (1u << n) - 1); }

// Of 16 bf16 values.
__m512 wide_values(__m256i values) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(values), 16)); }

// Adds up to 32 values of a row to its low and its high columns.
[[gnu::always_inline]] inline void add_values(const bfloat16* values, std::int64_t n, __m512& low, __m512& high) {
  const __m512i both = _mm512_maskz_loadu_epi16(first32(n), values);
  low = _mm512_add_ps(low, wide_values(_mm512_castsi512_si256(both)));
  high = _mm512_add_ps(high, wide_values(_mm512_extracti64x4_epi64(both, 1)));
}
[[gnu::always_inline]] inline void add_values(const float* values, std::int64_t n, __m512& low, __m512& high) {
  low = _mm512_add_ps(low, _mm512_maskz_loadu_ps(first16(n), values));
  if (n > 16) high = _mm512_add_ps(high, _mm512_maskz_loadu_ps(first16(n - 16), values + 16));
}

// Which of 32 bf16 values open a gate: those above 0 but subnormal numbers, and NaN of either sign. As bits, all but
// [0, 0x7f] and [0x8000, 0xff80], from -0 to -infinity.
__mmask32 opens_gate(__m512i bf16) {
  const __mmask32 not_small = _mm512_cmpgt_epu16_mask(bf16, _mm512_set1_epi16(0x007f));
  return _mm512_mask_cmpgt_epi16_mask(not_small, bf16, _mm512_set1_epi16(-0x0080));
}

// Writes 0 where a gate is at most 0, or subnormal.
[[gnu::always_inline]] inline void pass_gate(const bfloat16* gate, std::int64_t n, __m512& low, __m512& high) {
  const __mmask32 open = opens_gate(_mm512_maskz_loadu_epi16(first32(n), gate));
  low = _mm512_maskz_mov_ps(static_cast<__mmask16>(open), low);
  high = _mm512_maskz_mov_ps(static_cast<__mmask16>(open >> 16), high);
}
[[gnu::always_inline]] inline void pass_gate(const float* gate, std::int64_t n, __m512& low, __m512& high) {
  const __m512 least = _mm512_set1_ps(std::numeric_limits<float>::min());
  const auto open = [&](const float* from, std::int64_t count) __attribute__((always_inline)) {
    return _mm512_cmp_ps_mask(_mm512_maskz_loadu_ps(first16(count), from), least, _CMP_NLT_UQ);
  };
  low = _mm512_maskz_mov_ps(open(gate, n), low);
  if (n > 16) high = _mm512_maskz_mov_ps(open(gate + 16, n - 16), high);
}

// Restores the order of the columns of an interleaved block.
[[gnu::always_inline]] inline void order_columns(__m512& low, __m512& high) {
  const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
  const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
  const __m512 mixed = low;
  low = _mm512_permutex2var_ps(mixed, first, high);
  high = _mm512_permutex2var_ps(mixed, second, high);
}

// Sums of 16 rows with bias, addend, relu and gate, row by row: store(row, its low and its high columns).
template <class To, class Store>
[[gnu::always_inline]] inline void finish_rows(const TileResultOf<To>& r, const Store& store) {
  const bool wide = r.mixed || r.columns > 16;
  const __m512 zero = _mm512_setzero_ps();
  const __m512 bias0 = r.bias != nullptr ? _mm512_loadu_ps(r.bias) : zero;
  const __m512 bias1 = r.bias != nullptr ? _mm512_loadu_ps(r.bias + 16) : zero;
  for (int row = 0; row < 16; ++row) {
    if (r.rows[row] == nullptr) continue;
    __m512 low = _mm512_load_ps(r.c + row * 16);
    __m512 high = wide ? _mm512_load_ps(r.c + kTileSums + row * 16) : zero;
    if (r.mixed) order_columns(low, high);
    if (r.bias != nullptr) {
      low = _mm512_add_ps(low, bias0);
      high = _mm512_add_ps(high, bias1);
    }
    if (r.addend != nullptr) add_values(r.addend[row], r.columns, low, high);
    if (r.relu) {                                           // the second operand is the one that a NaN in it keeps
      low = _mm512_add_ps(_mm512_max_ps(zero, low), zero);  // -0 becomes 0
      high = _mm512_add_ps(_mm512_max_ps(zero, high), zero);
    }
    if (r.gate != nullptr) pass_gate(r.gate[row], r.columns, low, high);
    store(r.rows[row], low, high);
  }
}

// The usual row: 32 columns in their own order, nothing added. Known at compile time, a row takes 2.2 ns instead of
// 3.8.
template <bool kBias, bool kRelu, bool kGate>
void finish_whole(const TileResult& r) {
  const __m512 zero = _mm512_setzero_ps();
  const __m512 bias0 = kBias ? _mm512_loadu_ps(r.bias) : zero, bias1 = kBias ? _mm512_loadu_ps(r.bias + 16) : zero;
  const float* sums = r.c;
  bfloat16* const* const rows = r.rows;
  const bfloat16* const* const gate = r.gate;
  const bool past_caches = r.past_caches;
  for (int row = 0; row < 16; ++row, sums += kTileColumns) {
    bfloat16* const to = rows[row];
    if (to == nullptr) continue;
    __m512 low = _mm512_load_ps(sums), high = _mm512_load_ps(sums + kTileSums);
    if constexpr (kBias) low = _mm512_add_ps(low, bias0), high = _mm512_add_ps(high, bias1);
    if constexpr (kRelu) {  // as above
      low = _mm512_add_ps(_mm512_max_ps(zero, low), zero);
      high = _mm512_add_ps(_mm512_max_ps(zero, high), zero);
    }
    if constexpr (kGate) pass_gate(gate[row], kBlock, low, high);
    const __m512i result = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
    if (past_caches && reinterpret_cast<std::uintptr_t>(to) % 64 == 0) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to), result);
    } else {
      _mm512_storeu_si512(to, result);
    }
  }
}

// By bias, relu and gate.
constexpr void (*kFinishWhole[2][2][2])(const TileResult&) = {
    {{finish_whole<false, false, false>, finish_whole<false, false, true>},
     {finish_whole<false, true, false>, finish_whole<false, true, true>}},
    {{finish_whole<true, false, false>, finish_whole<true, false, true>},
     {finish_whole<true, true, false>, finish_whole<true, true, true>}}};

void finish(const TileResult& r) {
  if (r.columns == kBlock && !r.mixed && r.addend == nullptr) {
    return kFinishWhole[r.bias != nullptr][r.relu][r.gate != nullptr](r);
  }
  const __mmask32 columns = first32(r.columns);
  finish_rows(
      r, [&](bfloat16 * to, __m512 low, __m512 high) __attribute__((always_inline)) {
        const __m512i row = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
        if (r.past_caches && r.columns >= 32 && reinterpret_cast<std::uintptr_t>(to) % 64 == 0) {
          _mm512_stream_si512(reinterpret_cast<__m512i*>(to), row);
        } else {
          _mm512_mask_storeu_epi16(to, columns, row);
        }
      });
}

void finish_wide(const WideTileResult& r) {
  const __mmask16 first = first16(r.columns), second = first16(std::max<std::int64_t>(0, r.columns - 16));
  finish_rows(
      r, [&](float* to, __m512 low, __m512 high) __attribute__((always_inline)) {
        _mm512_mask_storeu_ps(to, first, low);
        if (second != 0) _mm512_mask_storeu_ps(to + 16, second, high);
      });
}

void split(const float* from, std::int64_t n, bfloat16* high, bfloat16* low) {
  for (std::int64_t at = 0; at < n; at += 16) {
    const __mmask16 left = first16(n - at);
    const __m512 value = _mm512_maskz_loadu_ps(left, from + at);
    const __m256i rounded = (__m256i)_mm512_cvtneps_pbh(value);
    const __m512i widened = _mm512_slli_epi32(_mm512_cvtepu16_epi32(rounded), 16);
    const __m512 rest = _mm512_sub_ps(value, _mm512_castsi512_ps(widened));
    _mm256_mask_storeu_epi16(high + at, left, rounded);
    _mm256_mask_storeu_epi16(low + at, left, (__m256i)_mm512_cvtneps_pbh(rest));
  }
}

// In integers, because the machine's conversion takes a subnormal number for zero.
void round(const float* from, std::int64_t n, bfloat16* to) {
  const __m512i one = _mm512_set1_epi32(1), half = _mm512_set1_epi32(0x7fff), quiet = _mm512_set1_epi32(0x400000);
  for (std::int64_t at = 0; at < n; at += 16) {
    const __mmask16 left = first16(n - at);
    const __m512 value = _mm512_maskz_loadu_ps(left, from + at);
    const __m512i bits = _mm512_castps_si512(value);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), one);
    __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(half, odd));
    rounded = _mm512_mask_or_epi32(rounded, _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q), bits, quiet);
    _mm256_mask_storeu_epi16(to + at, left, _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
  }
}

void copy_rows(const bfloat16* from, std::int64_t from_step, std::int64_t count, std::int64_t length, bfloat16* to,
               std::int64_t to_step) {
  for (std::int64_t i = 0; i < count; ++i, from += from_step, to += to_step) {
    std::int64_t at = 0;
    for (; at + 32 <= length; at += 32) _mm512_storeu_si512(to + at, _mm512_loadu_si512(from + at));
    if (at < to_step) {
      const __mmask32 left = first32(std::max<std::int64_t>(0, length - at));
      _mm512_mask_storeu_epi16(to + at, first32(to_step - at), _mm512_maskz_loadu_epi16(left, from + at));
      for (at += 32; at < to_step; at += 32) {
        _mm512_mask_storeu_epi16(to + at, first32(to_step - at), _mm512_setzero_si512());
      }
    }
  }
}

void stream_rows(const bfloat16* from, std::int64_t from_step, std::int64_t count, std::int64_t length, bfloat16* to,
                 std::int64_t rows) {
  const bool lines = reinterpret_cast<std::uintptr_t>(to) % 64 == 0;
  const __mmask32 left = first32(length);
  for (std::int64_t i = 0; i < rows; ++i, from += from_step, to += 32) {
    const __m512i row = i < count ? _mm512_maskz_loadu_epi16(left, from) : _mm512_setzero_si512();
    if (lines) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to), row);
    } else {
      _mm512_storeu_si512(to, row);
    }
  }
}

void copy_patches(const bfloat16* from, std::int64_t from_step, std::int64_t count, const std::int64_t* run_offsets,
                  std::int64_t runs, std::int64_t length, bfloat16* to, std::int64_t to_step) {
  const __m512i zero = _mm512_setzero_si512();
  for (std::int64_t i = 0; i < count; ++i, from += from_step, to += to_step) {
    bfloat16* out = to;
    for (std::int64_t run = 0; run < runs; ++run, out += length) {  // each writes over what the last wrote too much
      const bfloat16* in = from + run_offsets[run];
      std::int64_t at = 0;
      for (; at + 8 < length; at += 32) _mm512_storeu_si512(out + at, _mm512_loadu_si512(in + at));
      if (at < length) {  // a few values: a short store crosses fewer lines
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + at),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + at)));
      }
    }
    for (bfloat16* const end = to + to_step; out < end; out += 32) {
      _mm512_mask_storeu_epi16(out, first32(end - out), zero);
    }
  }
}

void interleave(const bfloat16* even, const bfloat16* odd, std::int64_t length, bfloat16* to, std::int64_t to_step) {
  for (std::int64_t at = 0; at < length; at += 16, to += to_step) {
    const __mmask16 left = first16(length - at);
    const __m512i low =
        even == nullptr ? _mm512_setzero_si512() : _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(left, even + at));
    const __m512i high =
        odd == nullptr ? _mm512_setzero_si512() : _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(left, odd + at));
    _mm512_storeu_si512(to, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
  }
}

void interleave_mixed(const bfloat16* even, const bfloat16* odd, bfloat16* to, std::int64_t to_step) {
  const __m512i zero = _mm512_setzero_si512();
  const __m512i low = even == nullptr ? zero : _mm512_loadu_si512(even);
  const __m512i high = odd == nullptr ? zero : _mm512_loadu_si512(odd);
  _mm512_storeu_si512(to, _mm512_unpacklo_epi16(low, high));
  _mm512_storeu_si512(to + to_step, _mm512_unpackhi_epi16(low, high));
}

void pair_rows_mixed(const bfloat16* from, std::int64_t from_step, std::int64_t pairs, bfloat16* to,
                     std::int64_t to_step) {
  for (; pairs > 0; --pairs, from += 2 * from_step, to += 32) {
    const __m512i low = _mm512_loadu_si512(from), high = _mm512_loadu_si512(from + from_step);
    _mm512_storeu_si512(to, _mm512_unpacklo_epi16(low, high));
    _mm512_storeu_si512(to + to_step, _mm512_unpackhi_epi16(low, high));
  }
}

// `Parts` of them, whose places stay in registers.
template <int Parts>
void pair_some_parts(const bfloat16* from, std::int64_t pair_step, std::int64_t pairs, const PairPart* parts,
                     bfloat16* to, bool onto) {
  __m512i index[Parts];
  for (int p = 0; p < Parts; ++p) index[p] = _mm512_loadu_si512(parts[p].index.data());
  for (; pairs > 0; --pairs, from += pair_step, to += 32) {
    __m512i row = onto ? _mm512_loadu_si512(to) : _mm512_setzero_si512();
    for (int p = 0; p < Parts; ++p) {
      const __m512i values = _mm512_loadu_si512(from + parts[p].from);
      row = _mm512_mask_permutexvar_epi16(row, parts[p].these, index[p], values);
    }
    _mm512_storeu_si512(to, row);
  }
}

void pair_parts(const bfloat16* from, std::int64_t pair_step, std::int64_t pairs, std::span<const PairPart> parts,
                bfloat16* to) {
  for (std::size_t part = 0; part < parts.size(); part += 2) {
    const auto some = part + 1 < parts.size() ? pair_some_parts<2> : pair_some_parts<1>;
    some(from, pair_step, pairs, parts.data() + part, to, part > 0);
  }
}

// 16 x 16 values of 32 bits, by halves: within blocks of 128 bits, then by blocks.
[[gnu::always_inline]] inline void transpose_words(__m512i* r, bfloat16* to) {
  __m512i u[16];
  for (int j = 0; j < 16; j += 2) {
    u[j] = _mm512_unpacklo_epi32(r[j], r[j + 1]);
    u[j + 1] = _mm512_unpackhi_epi32(r[j], r[j + 1]);
  }
  for (int j = 0; j < 16; j += 4) {
    r[j] = _mm512_unpacklo_epi64(u[j], u[j + 2]);
    r[j + 1] = _mm512_unpackhi_epi64(u[j], u[j + 2]);
    r[j + 2] = _mm512_unpacklo_epi64(u[j + 1], u[j + 3]);
    r[j + 3] = _mm512_unpackhi_epi64(u[j + 1], u[j + 3]);
  }
  for (int j = 0; j < 16; j += 8) {
    for (int k = 0; k < 4; ++k) {
      u[j + k] = _mm512_shuffle_i32x4(r[j + k], r[j + k + 4], 0x88);
      u[j + k + 4] = _mm512_shuffle_i32x4(r[j + k], r[j + k + 4], 0xdd);
    }
  }
  for (int k = 0; k < 8; ++k) {
    _mm512_storeu_si512(to + k * 32, _mm512_shuffle_i32x4(u[k], u[k + 8], 0x88));
    _mm512_storeu_si512(to + (k + 8) * 32, _mm512_shuffle_i32x4(u[k], u[k + 8], 0xdd));
  }
}

// 32 rows of 8 values become 8 rows of 32. Lane l of r[j] is row 8 l + j, brought there by loads; the rest is the same
// in each lane, by halves.
template <class Load>
[[gnu::always_inline]] inline void transpose_eight(const bfloat16* const* rows, const Load& load, bfloat16* to) {
  __m512i r[8], u[8];
  for (int j = 0; j < 8; ++j) {
    r[j] = _mm512_castsi128_si512(load(rows[j]));
    r[j] = _mm512_mask_broadcast_i32x4(r[j], 0x00f0, load(rows[j + 8]));
    r[j] = _mm512_mask_broadcast_i32x4(r[j], 0x0f00, load(rows[j + 16]));
    r[j] = _mm512_mask_broadcast_i32x4(r[j], 0xf000, load(rows[j + 24]));
  }
  for (int j = 0; j < 8; j += 2) {
    u[j] = _mm512_unpacklo_epi16(r[j], r[j + 1]);
    u[j + 1] = _mm512_unpackhi_epi16(r[j], r[j + 1]);
  }
  for (int j = 0; j < 8; j += 4) {
    r[j] = _mm512_unpacklo_epi32(u[j], u[j + 2]);
    r[j + 1] = _mm512_unpackhi_epi32(u[j], u[j + 2]);
    r[j + 2] = _mm512_unpacklo_epi32(u[j + 1], u[j + 3]);
    r[j + 3] = _mm512_unpackhi_epi32(u[j + 1], u[j + 3]);
  }
  for (int j = 0; j < 4; ++j) {
    _mm512_storeu_si512(to + 2 * j * 32, _mm512_unpacklo_epi64(r[j], r[j + 4]));
    _mm512_storeu_si512(to + (2 * j + 1) * 32, _mm512_unpackhi_epi64(r[j], r[j + 4]));
  }
}

void transpose(const bfloat16* const* rows, std::int64_t first, std::int64_t length, bfloat16* to) {
  alignas(64) static constexpr std::uint16_t kZeros[8] = {};
  const auto at = [&](const bfloat16* row, std::int64_t column) __attribute__((always_inline)) {
    return row == nullptr ? static_cast<const void*>(kZeros) : row + column;
  };
  for (std::int64_t column = 0; column < 16; column += 8) {
    const auto whole = [&](const bfloat16* row) __attribute__((always_inline)) {
      return _mm_loadu_si128(static_cast<const __m128i*>(at(row, first + column)));
    };
    const __mmask8 left = static_cast<__mmask8>(first16(std::max<std::int64_t>(0, length - column)));
    const auto some = [&](const bfloat16* row) __attribute__((always_inline)) {
      return _mm_maskz_loadu_epi16(left, at(row, first + column));
    };
    if (length >= column + 8) {
      transpose_eight(rows, whole, to + column * 32);
    } else {
      transpose_eight(rows, some, to + column * 32);
    }
  }
}

void pair_columns(const bfloat16* from, std::int64_t from_step, std::int64_t rows, std::int64_t length, bfloat16* to) {
  const __mmask32 values = first32(length);
  __m512i r[16];
  for (int row = 0; row < 16; ++row) {
    r[row] = row < rows ? _mm512_maskz_loadu_epi16(values, from + row * from_step) : _mm512_setzero_si512();
  }
  transpose_words(r, to);
}

void store_sums(const float* c, std::int64_t rows, std::int64_t columns, float* to, std::int64_t to_step,
                bool past_caches) {
  const bool lines = past_caches && reinterpret_cast<std::uintptr_t>(to) % 64 == 0 && to_step % 16 == 0;
  for (std::int64_t at = 0; at < columns; at += 16, c += kTileSums, to += 16) {
    if (lines && columns - at >= 16) {
      for (std::int64_t row = 0; row < rows; ++row) {
        _mm512_stream_ps(to + row * to_step, _mm512_load_ps(c + row * 16));
      }
    } else {
      const __mmask16 left = first16(columns - at);
      for (std::int64_t row = 0; row < rows; ++row) {
        _mm512_mask_storeu_ps(to + row * to_step, left, _mm512_load_ps(c + row * 16));
      }
    }
  }
}

void add_products(const float* c, std::int64_t parts, std::int64_t part_step, bool mixed, std::int64_t rows,
                  std::int64_t columns, float* to, std::int64_t to_step) {
  const __mmask16 low = first16(columns);
  const __mmask16 high = first16(std::max<std::int64_t>(0, columns - 16));
  const bool both = mixed || columns > 16;
  for (std::int64_t row = 0; row < rows; ++row, c += kTileColumns, to += to_step) {
    __m512 a = _mm512_load_ps(c), b = both ? _mm512_load_ps(c + kTileSums) : a;
    for (std::int64_t part = 1; part < parts; ++part) {
      a = _mm512_add_ps(a, _mm512_load_ps(c + part * part_step));
      if (both) b = _mm512_add_ps(b, _mm512_load_ps(c + part * part_step + kTileSums));
    }
    if (mixed) order_columns(a, b);
    _mm512_mask_storeu_ps(to, low, a);
    if (high != 0) _mm512_mask_storeu_ps(to + 16, high, b);
  }
}

// So many vectors of columns at a time: each addition waits for the one of the row before.
template <int Vectors>
void add_columns(const bfloat16* from, std::int64_t from_step, std::int64_t count, std::int64_t length, float* sums) {
  __mmask16 left[Vectors];
  __m512 sum[Vectors];
  for (int i = 0; i < Vectors; ++i) {
    left[i] = first16(std::max<std::int64_t>(0, length - i * 16));
    sum[i] = _mm512_maskz_loadu_ps(left[i], sums + i * 16);
  }
  for (std::int64_t row = 0; row < count; ++row, from += from_step) {
    for (int i = 0; i < Vectors; ++i)
      sum[i] = _mm512_add_ps(sum[i], wide_values(_mm256_maskz_loadu_epi16(left[i], from + i * 16)));
  }
  for (int i = 0; i < Vectors; ++i) _mm512_mask_storeu_ps(sums + i * 16, left[i], sum[i]);
}

void add_rows(const bfloat16* from, std::int64_t from_step, std::int64_t count, std::int64_t length, float* sums) {
  std::int64_t at = 0;
  for (; at + 16 < length; at += 64) add_columns<4>(from + at, from_step, count, length - at, sums + at);
  if (at < length) add_columns<1>(from + at, from_step, count, length - at, sums + at);
}

}  // namespace

const TileMoves& vector_tile_moves() {
  static constexpr TileMoves moves = {finish,     finish_wide,  copy_rows,    stream_rows,      split,
                                      round,      copy_patches, interleave,   interleave_mixed, pair_rows_mixed,
                                      pair_parts, transpose,    pair_columns, store_sums,       add_products,
                                      add_rows,   unpool};
  return moves;
}

}  // namespace ridgeline::device::tiles

#pragma GCC pop_options
