#include <immintrin.h>

#include <cstring>

#include "ridgeline/device/cpu/tiles/tiles.h"

// What follows is compiled for AVX-512 with bf16, and runs only where the active instruction set has it. Nothing that
// other files share may be compiled so, hence the includes come before.
#pragma GCC diagnostic ignored "-Wuninitialized"  // false, in gcc 12's own headers (gcc bug 105593)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")

#include "ridgeline/device/cpu/tiles/lines_avx512-inl.h"

namespace ridgeline::device::tiles {
namespace {

// Sums that are in registers while a product's steps pass: 16 of 32, one or two columns of tiles wide. A pair of depths
// takes a vector of B for each column, and for each row a pair of A in all lanes, which is used for every column. More
// rows at a time would read B less often, but 16 sums already hide the latency of the products.
constexpr int kGroupSums = 16;

// A transposed tile: the pairs of its rows are contiguous.
template <int Rows>
class TurnedRowsOfA {
 public:
  static constexpr std::int64_t kRow = 2;               // values from a row to the next
  static constexpr std::int64_t kPair = 2 * kTileRows;  // and from a pair of depths to the next
  TurnedRowsOfA(const bfloat16* first, std::int64_t /*step*/) : first_(first) {}
  [[gnu::always_inline]] __m512bh pair(int r, std::int64_t offset) const {
    int pair = 0;
    std::memcpy(&pair, first_ + offset + r * kRow, sizeof pair);
    return (__m512bh)_mm512_set1_epi32(pair);
  }

 private:
  const bfloat16* first_;
};

// Addresses of the rows of a group: x86 adds one, two or four times a distance to an address at no cost.
template <int Rows>
class RowsOfA {
 public:
  static constexpr std::int64_t kPair = 2;
  RowsOfA(const bfloat16* first, std::int64_t step) : step_(step * 2) {
    for (int four = 0; four < Rows / 4; ++four) fours_[four] = reinterpret_cast<const char*>(first + four * 4 * step);
  }
  // The pair at `offset` values from row r's beginning, in all lanes.
  [[gnu::always_inline]] __m512bh pair(int r, std::int64_t offset) const {
    int pair = 0;
    std::memcpy(&pair, fours_[r / 4] + r % 4 * step_ + offset * 2, sizeof pair);
    return (__m512bh)_mm512_set1_epi32(pair);
  }

 private:
  const char* fours_[Rows / 4];
  std::int64_t step_;
};

// Rows of sums at c from the rows of A at `a`.
template <int Columns, template <int> class RowsOf>
void multiply_group(const TileProduct& p, const bfloat16* a, float* c, std::int64_t c_row, std::int64_t c_right,
                    LinesAhead* ahead) {
  constexpr int kRows = kGroupSums / Columns;
  __m512 sum[kRows][Columns];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int column = 0; column < Columns; ++column)
      sum[r][column] = p.add ? _mm512_loadu_ps(c + r * c_row + column * c_right) : _mm512_setzero_ps();
  }
  using Rows = RowsOf<kRows>;
  const Rows rows(a, p.a_row);
  for (std::int64_t step = 0; step < p.steps; ++step) {
    if (ahead != nullptr) ahead->fetch(p.ahead_lines);
    const std::int64_t of_a = p.a_offsets[step], of_b = p.b_offsets[step];
#pragma GCC unroll 1
    for (std::int64_t depth = 0; depth < kTileDepth; depth += 2) {
      __m512bh b[Columns];
#pragma GCC unroll 2
      for (int column = 0; column < Columns; ++column)
        b[column] = (__m512bh)_mm512_loadu_si512(p.b[column] + of_b + depth * kTileColumns);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const __m512bh pair = rows.pair(r, of_a + depth / 2 * Rows::kPair);
#pragma GCC unroll 2
        for (int column = 0; column < Columns; ++column)
          sum[r][column] = _mm512_dpbf16_ps(sum[r][column], pair, b[column]);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int column = 0; column < Columns; ++column) _mm512_storeu_ps(c + r * c_row + column * c_right, sum[r][column]);
  }
}

template <int Rows, int Columns>
void multiply_dots(const TileProduct& p) {
  constexpr std::int64_t kLines = 4 * kTileRows;  // of the sums of a product
  constexpr int kGroup = kGroupSums / Columns;
  if (p.soon != nullptr) fetch_lines(p.soon, kLines);
  const bool in_rows = p.c_row > 0;
  const std::int64_t c_row = in_rows ? p.c_row : kTileColumns;
  const std::int64_t c_down = in_rows ? kTileRows * p.c_row : 2 * kTileSums;
  const std::int64_t c_right = in_rows ? kTileColumns : kTileSums;
  const auto multiply = p.a_turned ? multiply_group<Columns, TurnedRowsOfA> : multiply_group<Columns, RowsOfA>;
  const std::int64_t a_row = p.a_turned ? TurnedRowsOfA<kGroup>::kRow : p.a_row;
  for (int tile = 0; tile < Rows; ++tile) {
    for (int row = 0; row < kTileRows; row += kGroup) {
      multiply(p, p.a[tile] + row * a_row, p.c + tile * c_down + row * c_row, c_row, c_right,
               tile + row == 0 ? p.ahead : nullptr);
    }
  }
  if (p.earlier != nullptr) add_sum_lines(p.earlier, p.onto, kLines, p.add_earlier);
}

void add_dot_tiles(const float* earlier, float* onto, bool add) { add_sum_lines(earlier, onto, 4 * kTileRows, add); }

// TileMoves::transpose for transposed tiles: 32 rows become 16 of pairs, with a fourth of the moves of a real
// transpose.
void pair_depths(const bfloat16* const* rows, std::int64_t first, std::int64_t length, bfloat16* to) {
  const auto there = static_cast<__mmask16>(length >= kTileRows ? 0xffff : (1u << length) - 1);
  const auto load = [&](const bfloat16* row) __attribute__((always_inline)) {
    return row == nullptr ? _mm512_setzero_si512()
                          : _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(there, row + first));
  };
  for (int pair = 0; pair < kTileDepth / 2; ++pair, rows += 2, to += kTileDepth) {
    _mm512_storeu_si512(to, _mm512_or_si512(load(rows[0]), _mm512_slli_epi32(load(rows[1]), 16)));
  }
}

TileMoves dot_moves() {
  TileMoves moves = vector_tile_moves();
  moves.transpose = pair_depths;
  return moves;
}

void begin_dots() {}
void end_dots() {
  _mm_sfence();  // behind the sums that went past the caches
}

}  // namespace

const TileCode& dot_tile_code() {
  static const TileCode code = {
      dot_moves(),     begin_dots,
      end_dots,        {{multiply_dots<1, 1>, multiply_dots<1, 2>}, {multiply_dots<2, 1>, multiply_dots<2, 2>}},
      add_dot_tiles,
      /*turns_a=*/true};
  return code;
}

}  // namespace ridgeline::device::tiles

#pragma GCC pop_options
