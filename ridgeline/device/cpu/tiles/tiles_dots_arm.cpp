#include <arm_neon.h>

#include <algorithm>

#include "ridgeline/device/cpu/tiles/tiles.h"

// What follows is compiled for Arm's bf16 instructions, and runs only where the active instruction set has them.
// Nothing that other files share may be compiled so, hence the includes come before.
#pragma GCC push_options
#pragma GCC target("arch=armv8.2-a+bf16")

namespace ridgeline::device::tiles {
namespace {

// bfmmla multiplies two rows by two columns over four depths: 16 products, where bfdot makes eight and f32's
// multiply-add four. Its operands hold four depths of one row (or column), then those of the next. So tiles are packed
// into panels of 8 rows, or of 8 columns, which 16 vectors of sums multiply by each other: 16 instructions for 8 loads.
// Each value is packed once and used for all columns, or all rows, of the product.
constexpr std::int64_t kPanel = 8;
constexpr std::int64_t kPanels = kTileRows / kPanel;     // of a tile
constexpr std::int64_t kVector = 16;                     // bytes
constexpr std::int64_t kGroup = kPanel / 2 * kVector;    // bytes of a panel's four depths
constexpr std::int64_t kStep = kTileDepth / 4 * kGroup;  // and of a step
constexpr std::int64_t kSteps = 4;                       // packed at a time: 16 KB for 2 x 2 tiles
constexpr int kPairs = kPanel / 2;                       // of rows or columns

// Read and written in words of several sizes, hence bytes.
struct Panel {
  alignas(64) unsigned char at[kSteps * kStep];
};

uint32x4_t words(const bfloat16* from) {
  return vreinterpretq_u32_u8(vld1q_u8(reinterpret_cast<const unsigned char*>(from)));
}

// A step of a tile whose rows are pairs of depths (of B, or a turned one of A): two of them become one of four depths.
void pack_pairs(const bfloat16* tile, Panel* panels, std::int64_t step) {
  for (std::int64_t pair = 0; pair < kTileDepth / 2; pair += 2, tile += 4 * kTileColumns) {
    for (std::int64_t i = 0; i < kPanels; ++i) {
      unsigned char* const to = panels[i].at + step * kStep + pair / 2 * kGroup;
      for (std::int64_t half = 0; half < 2; ++half) {
        const bfloat16* const from = tile + (i * kPanel + half * kPanel / 2) * 2;
        vst2q_u32(reinterpret_cast<std::uint32_t*>(to + half * 2 * kVector),
                  {words(from), words(from + 2 * kTileColumns)});
      }
    }
  }
}

// A step of a tile of A: eight depths of two rows become two vectors of four.
void pack_rows(const bfloat16* first, std::int64_t a_row, Panel* panels, std::int64_t step) {
  for (std::int64_t row = 0; row < kTileRows; row += 2, first += 2 * a_row) {
    unsigned char* const to = panels[row / kPanel].at + step * kStep + row % kPanel * kVector;
    for (std::int64_t depth = 0; depth < kTileDepth; depth += 8) {
      vst2q_u64(reinterpret_cast<std::uint64_t*>(to + depth / 4 * kGroup),
                {vreinterpretq_u64_u32(words(first + depth)), vreinterpretq_u64_u32(words(first + a_row + depth))});
    }
  }
}

// Where both pack a vector: of a pair of rows, and of the first or second four of eight depths.
struct Pairs {
  static constexpr int place(int pair, int four) { return four * kPairs + pair; }
};
struct Rows {
  static constexpr int place(int pair, int four) { return pair * 2 + four; }
};

[[gnu::always_inline]] inline float32x4_t joined_low(float32x4_t a, float32x4_t b) {
  return vreinterpretq_f32_f64(vzip1q_f64(vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b)));
}
[[gnu::always_inline]] inline float32x4_t joined_high(float32x4_t a, float32x4_t b) {
  return vreinterpretq_f32_f64(vzip2q_f64(vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b)));
}

// In assembler: with the compiler's own function, gcc 12 moves a fourth of the sums to other registers and back.
[[gnu::always_inline]] inline void multiply_add(float32x4_t& sum, uint8x16_t rows, uint8x16_t columns) {
  __asm__("bfmmla %0.4s, %1.8h, %2.8h" : "+w"(sum) : "w"(rows), "w"(columns));
}

// 8 x 8 sums at c [+]= the panels' first `steps`.
template <class OfA>
void multiply_panels(const Panel& of_a, const Panel& of_b, std::int64_t steps, float* c, std::int64_t c_row, bool add) {
  float32x4_t sum[kPairs][kPairs];  // of two rows by two columns each
#pragma GCC unroll 4
  for (int r = 0; r < kPairs; ++r) {
    const float* const upper = c + 2 * r * c_row;
    const float* const lower = upper + c_row;
#pragma GCC unroll 2
    for (int column = 0; column < kPairs; column += 2) {
      const float32x4_t zero = vdupq_n_f32(0);
      const float32x4_t a = add ? vld1q_f32(upper + 2 * column) : zero, b = add ? vld1q_f32(lower + 2 * column) : zero;
      sum[r][column] = joined_low(a, b);
      sum[r][column + 1] = joined_high(a, b);
    }
  }
  const unsigned char *a = of_a.at, *b = of_b.at;
#pragma GCC unroll 1
  for (const unsigned char* const end = a + steps * kStep; a < end; a += 2 * kGroup, b += 2 * kGroup) {
#pragma GCC unroll 2
    for (int four = 0; four < 2; ++four) {
      uint8x16_t rows[kPairs], columns[kPairs];
#pragma GCC unroll 4
      for (int i = 0; i < kPairs; ++i) {
        rows[i] = vld1q_u8(a + OfA::place(i, four) * kVector);
        columns[i] = vld1q_u8(b + Pairs::place(i, four) * kVector);
      }
#pragma GCC unroll 4
      for (int r = 0; r < kPairs; ++r) {
#pragma GCC unroll 4
        for (int column = 0; column < kPairs; ++column) multiply_add(sum[r][column], rows[r], columns[column]);
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kPairs; ++r) {
    float* const upper = c + 2 * r * c_row;
    float* const lower = upper + c_row;
#pragma GCC unroll 2
    for (int column = 0; column < kPairs; column += 2) {
      vst1q_f32(upper + 2 * column, joined_low(sum[r][column], sum[r][column + 1]));
      vst1q_f32(lower + 2 * column, joined_high(sum[r][column], sum[r][column + 1]));
    }
  }
}

void add_sum_lines(const float* from, float* onto, std::int64_t lines, bool add) {
  for (std::int64_t i = 0; i < lines * kTileColumns; i += 4) {
    const float32x4_t sums = vld1q_f32(from + i);
    vst1q_f32(onto + i, add ? vaddq_f32(vld1q_f32(onto + i), sums) : sums);
  }
}

template <int kRows, int kColumns>
void multiply_dots(const TileProduct& p) {
  constexpr std::int64_t kLines = 4 * kTileRows;  // of the sums of a product
  if (p.soon != nullptr) {
    for (std::int64_t line = 0; line < kLines; ++line) __builtin_prefetch(p.soon + line * kTileColumns, 1, 3);
  }
  const bool in_rows = p.c_row > 0;
  const std::int64_t c_row = in_rows ? p.c_row : kTileColumns;
  const std::int64_t c_down = in_rows ? kTileRows * p.c_row : 2 * kTileSums;
  const std::int64_t c_right = in_rows ? kTileColumns : kTileSums;
  const auto multiply = p.a_turned ? multiply_panels<Pairs> : multiply_panels<Rows>;
  Panel a[kRows * kPanels], b[kColumns * kPanels];
  std::int64_t begin = 0;
  do {
    const std::int64_t steps = std::min(kSteps, p.steps - begin);
    for (std::int64_t step = 0; step < steps; ++step) {
      if (p.ahead != nullptr) p.ahead->fetch(p.ahead_lines);
      for (int tile = 0; tile < kColumns; ++tile)
        pack_pairs(p.b[tile] + p.b_offsets[begin + step], b + tile * kPanels, step);
      for (int tile = 0; tile < kRows; ++tile) {
        const bfloat16* const from = p.a[tile] + p.a_offsets[begin + step];
        if (p.a_turned) {
          pack_pairs(from, a + tile * kPanels, step);
        } else {
          pack_rows(from, p.a_row, a + tile * kPanels, step);
        }
      }
    }
    for (std::int64_t i = 0; i < kRows * kPanels; ++i) {
      for (std::int64_t j = 0; j < kColumns * kPanels; ++j) {
        float* const c = p.c + i / kPanels * c_down + i % kPanels * kPanel * c_row + j / kPanels * c_right;
        multiply(a[i], b[j], steps, c + j % kPanels * kPanel, c_row, p.add || begin > 0);
      }
    }
    begin += steps;
  } while (begin < p.steps);
  if (p.earlier != nullptr) add_sum_lines(p.earlier, p.onto, kLines, p.add_earlier);
}

void add_dot_tiles(const float* earlier, float* onto, bool add) { add_sum_lines(earlier, onto, 4 * kTileRows, add); }

void nothing() {}

}  // namespace

const TileCode& dot_tile_code() {
  static const TileCode code = {
      vector_tile_moves(),
      nothing,
      nothing,
      {{multiply_dots<1, 1>, multiply_dots<1, 2>}, {multiply_dots<2, 1>, multiply_dots<2, 2>}},
      add_dot_tiles,
      /*turns_a=*/true};
  return code;
}

}  // namespace ridgeline::device::tiles

#pragma GCC pop_options
