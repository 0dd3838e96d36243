#include <arm_neon.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ridgeline/device/cpu/tiles/tiles.h"

// The moves of the products by Arm's bf16 instructions. What follows is compiled for these, and runs only where the
// active instruction set has them. Nothing that other files share may be compiled so, hence the includes come before.
#pragma GCC push_options
#pragma GCC target("arch=armv8.2-a+bf16")

namespace ridgeline::device::tiles {
namespace {

// ---- some values of a vector; the others are zero, and are not written

[[gnu::always_inline]] inline uint16x8_t load(const bfloat16* from) {
  return vreinterpretq_u16_u8(vld1q_u8(reinterpret_cast<const unsigned char*>(from)));
}
[[gnu::always_inline]] inline void store(bfloat16* to, uint16x8_t values) {
  vst1q_u8(reinterpret_cast<unsigned char*>(to), vreinterpretq_u8_u16(values));
}
[[gnu::always_inline]] inline uint16x8_t load(const bfloat16* from, std::int64_t n) {
  if (n >= 8) return load(from);
  bfloat16 some[8] = {};
  for (std::int64_t i = 0; i < n; ++i) some[i] = from[i];
  return load(some);
}
[[gnu::always_inline]] inline void store(bfloat16* to, std::int64_t n, uint16x8_t values) {
  if (n >= 8) return store(to, values);
  bfloat16 some[8];
  store(some, values);
  for (std::int64_t i = 0; i < n; ++i) to[i] = some[i];
}
[[gnu::always_inline]] inline float32x4_t load(const float* from, std::int64_t n) {
  if (n >= 4) return vld1q_f32(from);
  float some[4] = {};
  for (std::int64_t i = 0; i < n; ++i) some[i] = from[i];
  return vld1q_f32(some);
}
[[gnu::always_inline]] inline void store(float* to, std::int64_t n, float32x4_t values) {
  if (n >= 4) return vst1q_f32(to, values);
  float some[4];
  vst1q_f32(some, values);
  for (std::int64_t i = 0; i < n; ++i) to[i] = some[i];
}

// Eight f32 values, and eight bf16 ones as such.
struct Wide {
  float32x4_t low, high;
};
[[gnu::always_inline]] inline Wide widened(uint16x8_t values) {
  return {vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(values), 16)),
          vreinterpretq_f32_u32(vshll_high_n_u16(values, 16))};
}
[[gnu::always_inline]] inline Wide load_wide(const bfloat16* from, std::int64_t n) { return widened(load(from, n)); }
[[gnu::always_inline]] inline Wide load_wide(const float* from, std::int64_t n) {
  return {load(from, n), load(from + 4, n - 4)};
}
[[gnu::always_inline]] inline void store_wide(bfloat16* to, std::int64_t n, const Wide& v) {
  store(to, n, vreinterpretq_u16_bf16(vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(v.low), v.high)));
}
[[gnu::always_inline]] inline void store_wide(float* to, std::int64_t n, const Wide& v) {
  store(to, n, v.low);
  store(to + 4, n - 4, v.high);
}

// ---- sums

// Where eight columns of sums, from `column` on, are in the two tiles: 4 and 4.
struct Columns {
  const float *low, *high;
};
[[gnu::always_inline]] inline Columns columns_at(const float* row, std::int64_t column, bool mixed) {
  if (mixed) return {row + column / 2, row + kTileSums + column / 2};
  const float* const low = row + column / kTileColumns * kTileSums + column % kTileColumns;
  return {low, low + 4};
}

// 0 where a gate is at most 0, or subnormal; NaN opens it.
[[gnu::always_inline]] inline float32x4_t passed(float32x4_t value, float32x4_t gate) {
  const uint32x4_t closed = vcltq_f32(gate, vdupq_n_f32(std::numeric_limits<float>::min()));
  return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(value), closed));
}

template <class To>
void finish_rows(const TileResultOf<To>& r) {
  const float32x4_t zero = vdupq_n_f32(0);
  for (int row = 0; row < kTileRows; ++row) {
    To* const to = r.rows[row];
    if (to == nullptr) continue;
    for (std::int64_t at = 0; at < r.columns; at += 8) {
      const std::int64_t n = r.columns - at;
      const Columns sums = columns_at(r.c + row * kTileColumns, at, r.mixed);
      Wide v{vld1q_f32(sums.low), vld1q_f32(sums.high)};
      if (r.bias != nullptr)
        v = {vaddq_f32(v.low, vld1q_f32(r.bias + at)), vaddq_f32(v.high, vld1q_f32(r.bias + at + 4))};
      if (r.addend != nullptr) {
        const Wide more = load_wide(r.addend[row] + at, n);
        v = {vaddq_f32(v.low, more.low), vaddq_f32(v.high, more.high)};
      }
      if (r.relu) v = {vmaxq_f32(v.low, zero), vmaxq_f32(v.high, zero)};  // of -0 and 0 the latter; NaN stays
      if (r.gate != nullptr) {
        const Wide gate = load_wide(r.gate[row] + at, n);
        v = {passed(v.low, gate.low), passed(v.high, gate.high)};
      }
      store_wide(to + at, n, v);
    }
  }
}

void finish(const TileResult& r) { finish_rows(r); }
void finish_wide(const WideTileResult& r) { finish_rows(r); }

void store_sums(const float* c, std::int64_t rows, std::int64_t columns, float* to, std::int64_t to_step,
                bool /*past_caches*/) {
  for (std::int64_t row = 0; row < rows; ++row, c += kTileColumns, to += to_step) {
    for (std::int64_t at = 0; at < columns; at += 8) {
      const Columns sums = columns_at(c, at, false);
      store_wide(to + at, columns - at, {vld1q_f32(sums.low), vld1q_f32(sums.high)});
    }
  }
}

void add_products(const float* c, std::int64_t parts, std::int64_t part_step, bool mixed, std::int64_t rows,
                  std::int64_t columns, float* to, std::int64_t to_step) {
  for (std::int64_t row = 0; row < rows; ++row, c += kTileColumns, to += to_step) {
    for (std::int64_t at = 0; at < columns; at += 8) {
      const Columns sums = columns_at(c, at, mixed);
      Wide v{vld1q_f32(sums.low), vld1q_f32(sums.high)};
      for (std::int64_t part = 1; part < parts; ++part) {
        v = {vaddq_f32(v.low, vld1q_f32(sums.low + part * part_step)),
             vaddq_f32(v.high, vld1q_f32(sums.high + part * part_step))};
      }
      store_wide(to + at, columns - at, v);
    }
  }
}

// 16 columns at a time: each addition waits for the one of the row before.
void add_rows(const bfloat16* from, std::int64_t from_step, std::int64_t count, std::int64_t length, float* sums) {
  for (std::int64_t at = 0; at < length; at += 16) {
    const std::int64_t n = length - at;
    Wide first = load_wide(sums + at, n), second = load_wide(sums + at + 8, n - 8);
    for (std::int64_t row = 0; row < count; ++row) {
      const bfloat16* const values = from + row * from_step + at;
      const Wide a = load_wide(values, n), b = load_wide(values + 8, n - 8);
      first = {vaddq_f32(first.low, a.low), vaddq_f32(first.high, a.high)};
      second = {vaddq_f32(second.low, b.low), vaddq_f32(second.high, b.high)};
    }
    store_wide(sums + at, n, first);
    store_wide(sums + at + 8, n - 8, second);
  }
}

// ---- values

void copy_rows(const bfloat16* from, std::int64_t from_step, std::int64_t count, std::int64_t length, bfloat16* to,
               std::int64_t to_step) {
  for (std::int64_t i = 0; i < count; ++i, from += from_step, to += to_step) {
    std::int64_t at = 0;
    for (; at + 8 <= length; at += 8) store(to + at, load(from + at));
    if (at < length) store(to + at, to_step - at, load(from + at, length - at)), at += 8;
    for (; at < to_step; at += 8) store(to + at, to_step - at, vdupq_n_u16(0));
  }
}

void stream_rows(const bfloat16* from, std::int64_t from_step, std::int64_t count, std::int64_t length, bfloat16* to,
                 std::int64_t rows) {
  copy_rows(from, from_step, count, length, to, kBlock);
  std::fill(to + count * kBlock, to + rows * kBlock, bfloat16{});
}

// In integers: a subnormal number is kept, whatever the processor is told to do with them.
[[gnu::always_inline]] inline uint16x4_t rounded(float32x4_t value) {
  const uint32x4_t bits = vreinterpretq_u32_f32(value);
  const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
  const uint32x4_t sum = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
  return vshrn_n_u32(vbslq_u32(vceqq_f32(value, value), sum, vorrq_u32(bits, vdupq_n_u32(0x400000))), 16);
}

void round(const float* from, std::int64_t n, bfloat16* to) {
  for (std::int64_t at = 0; at < n; at += 8) {
    const Wide v = load_wide(from + at, n - at);
    store(to + at, n - at, vcombine_u16(rounded(v.low), rounded(v.high)));
  }
}

void copy_patches(const bfloat16* from, std::int64_t from_step, std::int64_t count, const std::int64_t* run_offsets,
                  std::int64_t runs, std::int64_t length, bfloat16* to, std::int64_t to_step) {
  for (std::int64_t i = 0; i < count; ++i, from += from_step, to += to_step) {
    bfloat16* out = to;
    for (std::int64_t run = 0; run < runs; ++run, out += length) {  // each writes over what the last wrote too much
      for (std::int64_t at = 0; at < length; at += 8) store(out + at, load(from + run_offsets[run] + at));
    }
    for (bfloat16* const end = to + to_step; out < end; out += 8) store(out, end - out, vdupq_n_u16(0));
  }
}

void interleave(const bfloat16* even, const bfloat16* odd, std::int64_t length, bfloat16* to, std::int64_t to_step) {
  for (std::int64_t at = 0; at < length; at += kTileColumns, to += to_step) {
    for (std::int64_t half = 0; half < kTileColumns; half += 8) {
      const std::int64_t first = at + half, n = std::max<std::int64_t>(0, length - first);
      const uint16x8_t low = even == nullptr ? vdupq_n_u16(0) : load(even + first, n);
      const uint16x8_t high = odd == nullptr ? vdupq_n_u16(0) : load(odd + first, n);
      store(to + 2 * half, vzip1q_u16(low, high));
      store(to + 2 * half + 8, vzip2q_u16(low, high));
    }
  }
}

void interleave_mixed(const bfloat16* even, const bfloat16* odd, bfloat16* to, std::int64_t to_step) {
  for (std::int64_t at = 0; at < kBlock; at += 8) {
    const uint16x8_t low = even == nullptr ? vdupq_n_u16(0) : load(even + at);
    const uint16x8_t high = odd == nullptr ? vdupq_n_u16(0) : load(odd + at);
    store(to + at, vzip1q_u16(low, high));
    store(to + to_step + at, vzip2q_u16(low, high));
  }
}

void pair_rows_mixed(const bfloat16* from, std::int64_t from_step, std::int64_t pairs, bfloat16* to,
                     std::int64_t to_step) {
  for (; pairs > 0; --pairs, from += 2 * from_step, to += kTileDepth)
    interleave_mixed(from, from + from_step, to, to_step);
}

// TBX reads bytes by their places in a table of 64, which are 32 values, and leaves a byte whose place is beyond it.
void pair_parts(const bfloat16* from, std::int64_t pair_step, std::int64_t pairs, std::span<const PairPart> parts,
                bfloat16* to) {
  for (std::int64_t pair = 0; pair < pairs; ++pair) std::fill_n(to + pair * kTileDepth, kTileDepth, bfloat16{});
  for (const PairPart& part : parts) {
    std::uint8_t places[2 * kTileDepth];
    for (std::size_t i = 0; i < kTileDepth; ++i) {
      const bool there = (part.these >> i & 1) != 0;
      places[2 * i] = there ? static_cast<std::uint8_t>(2 * part.index[i]) : 0xff;
      places[2 * i + 1] = there ? static_cast<std::uint8_t>(2 * part.index[i] + 1) : 0xff;
    }
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      const auto* const values = reinterpret_cast<const std::uint8_t*>(from + pair * pair_step + part.from);
      auto* const row = reinterpret_cast<std::uint8_t*>(to + pair * kTileDepth);
      const uint8x16x4_t table = {vld1q_u8(values), vld1q_u8(values + 16), vld1q_u8(values + 32),
                                  vld1q_u8(values + 48)};
      for (int at = 0; at < 64; at += 16)
        vst1q_u8(row + at, vqtbx4q_u8(vld1q_u8(row + at), table, vld1q_u8(places + at)));
    }
  }
}

// Transposed tiles: 32 rows become 16 of pairs.
void pair_depths(const bfloat16* const* rows, std::int64_t first, std::int64_t length, bfloat16* to) {
  const auto from = [&](const bfloat16* row) { return row == nullptr ? nullptr : row + first; };
  for (int pair = 0; pair < kTileDepth / 2; ++pair, rows += 2, to += kTileDepth)
    interleave(from(rows[0]), from(rows[1]), std::min(length, kTileRows), to, 0);
}

// A pair of values is a word: 16 x 16 of them are transposed in blocks of 4 x 4.
void pair_columns(const bfloat16* from, std::int64_t from_step, std::int64_t rows, std::int64_t length, bfloat16* to) {
  for (std::int64_t row = 0; row < kTileRows; row += 4) {
    for (std::int64_t at = 0; at < kTileDepth; at += 8) {
      uint32x4_t r[4];
      for (std::int64_t i = 0; i < 4; ++i) {
        const std::int64_t n = row + i < rows ? std::max<std::int64_t>(0, length - at) : 0;
        r[i] = vreinterpretq_u32_u16(load(from + (row + i) * from_step + at, n));
      }
      const auto wide = [](uint32x4_t v) { return vreinterpretq_u64_u32(v); };
      const uint64x2_t upper_low = wide(vtrn1q_u32(r[0], r[1])), upper_high = wide(vtrn2q_u32(r[0], r[1]));
      const uint64x2_t lower_low = wide(vtrn1q_u32(r[2], r[3])), lower_high = wide(vtrn2q_u32(r[2], r[3]));
      bfloat16* const out = to + at / 2 * kTileDepth + row * 2;
      store(out, vreinterpretq_u16_u64(vtrn1q_u64(upper_low, lower_low)));
      store(out + kTileDepth, vreinterpretq_u16_u64(vtrn1q_u64(upper_high, lower_high)));
      store(out + 2 * kTileDepth, vreinterpretq_u16_u64(vtrn2q_u64(upper_low, lower_low)));
      store(out + 3 * kTileDepth, vreinterpretq_u16_u64(vtrn2q_u64(upper_high, lower_high)));
    }
  }
}

// ---- max pooling's gradient

// A window's values in up to 8 channels that go to the pixel at a position; zeros in the others.
[[gnu::always_inline]] inline uint16x8_t chosen(const bfloat16* dy, const std::uint8_t* index, std::int64_t tap,
                                                std::int64_t n) {
  std::uint8_t some[8] = {};
  if (n < 8) {
    for (std::int64_t i = 0; i < n; ++i) some[i] = index[i];
  }
  const uint8x8_t here = vceq_u8(vld1_u8(n < 8 ? some : index), vdup_n_u8(static_cast<std::uint8_t>(tap)));
  const uint16x8_t mask = vreinterpretq_u16_s16(vmovl_s8(vreinterpret_s8_u8(here)));
  return vandq_u16(load(dy, n), mask);
}

void unpool(const PooledRow& row, std::int64_t channels, bfloat16* to, std::int64_t to_step) {
  const PooledRow w = row;  // a copy, so that stores cannot change it
  std::int64_t pixel_tap = w.tap;
  for (const auto& [left, right] : w.columns) {
    for (std::int64_t c = 0; c < channels; c += 8) {
      const std::int64_t n = channels - c;
      Wide sum{vdupq_n_f32(0), vdupq_n_f32(0)};
      for (std::int64_t i = 0; i < w.rows; ++i) {
        for (std::int64_t j = left; j < right; ++j) {
          const std::int64_t at = i * w.row_step + j * w.pixel_step + c;
          const Wide v = widened(chosen(w.dy + at, w.index + at, pixel_tap - i * w.row_taps - j * w.column_taps, n));
          sum = {vaddq_f32(sum.low, v.low), vaddq_f32(sum.high, v.high)};
        }
      }
      store_wide(to + c, n, sum);
    }
    ++pixel_tap;
    to += to_step;
  }
}

}  // namespace

// Values are split for kernels on tile registers alone, which Arm does not have.
const TileMoves& vector_tile_moves() {
  static const TileMoves moves = {finish,     finish_wide,  copy_rows,    stream_rows,      scalar_tile_code().split,
                                  round,      copy_patches, interleave,   interleave_mixed, pair_rows_mixed,
                                  pair_parts, pair_depths,  pair_columns, store_sums,       add_products,
                                  add_rows,   unpool};
  return moves;
}

}  // namespace ridgeline::device::tiles

#pragma GCC pop_options
