#include <algorithm>
#include <cstring>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cpu/tiles/products-inl.h"

namespace ridgeline::device::tiles {
namespace {

// A subnormal number is zero, as for the tile instructions.
float flushed(float x) { return x > -0x1p-126f && x < 0x1p-126f ? x * 0.0f : x; }

// Tiles as arrays, with the sums in the order in which the machine makes them: the even and the odd depths of a step
// separately, both together, then onto the sum.
class ScalarRegisters {
 public:
  template <int N>
  void zero() {
    std::memset(tile_[N], 0, sizeof tile_[N]);
  }
  template <int N>
  void load(const void* from, std::int64_t row_bytes) {
    for (int row = 0; row < 16; ++row) {
      std::memcpy(tile_[N][row], static_cast<const char*>(from) + row * row_bytes, 64);
    }
  }
  template <int N>
  void store(void* to, std::int64_t row_bytes) const {
    for (int row = 0; row < 16; ++row) {
      std::memcpy(static_cast<char*>(to) + row * row_bytes, tile_[N][row], 64);
    }
  }
  void fetch_near(const float*, std::int64_t) {}
  void stay_awake() {}
  void add_lines(const float* from, float* onto, std::int64_t lines, bool add) {
    for (std::int64_t i = 0; i < lines * kTileColumns; ++i) onto[i] = add ? onto[i] + from[i] : from[i];
  }
  template <int C, int A, int B>
  void multiply() {
    float a[16][32], b[16][32], c[16][16];
    widen(tile_[A], a);
    widen(tile_[B], b);
    std::memcpy(c, tile_[C], sizeof c);
    for (int row = 0; row < 16; ++row) {
      float even[16] = {}, odd[16] = {};
      for (int k = 0; k < 16; ++k) {
        for (int column = 0; column < 16; ++column) {
          even[column] += a[row][2 * k] * b[k][2 * column];
          odd[column] += a[row][2 * k + 1] * b[k][2 * column + 1];
        }
      }
      for (int column = 0; column < 16; ++column) c[row][column] += even[column] + odd[column];
    }
    std::memcpy(tile_[C], c, sizeof c);
  }

 private:
  static void widen(const unsigned char (&tile)[16][64], float (&wide)[16][32]) {
    bfloat16 values[16][32];
    std::memcpy(values, tile, sizeof values);
    for (int row = 0; row < 16; ++row) {
      for (int i = 0; i < 32; ++i) wide[row][i] = flushed(to_float(values[row][i]));
    }
  }

  unsigned char tile_[8][16][64];
};

void nothing() {}

float wide(bfloat16 value) { return to_float(value); }
float wide(float value) { return value; }

// Where column `i` of a block is after interleaving: its tile, and the column in it.
std::int64_t mixed_tile(std::int64_t i) { return i / 4 % 2; }
std::int64_t mixed_column(std::int64_t i) { return i / 8 * 4 + i % 4; }

template <class To, class Round>
void finish_rows(const TileResultOf<To>& r, const Round& round) {
  for (int row = 0; row < 16; ++row) {
    if (r.rows[row] == nullptr) continue;
    for (std::int64_t column = 0; column < r.columns; ++column) {
      const std::int64_t tile = r.mixed ? mixed_tile(column) : column / 16;
      float v = r.c[tile * kTileSums + row * 16 + (r.mixed ? mixed_column(column) : column % 16)];
      if (r.bias != nullptr) v += r.bias[column];
      if (r.addend != nullptr) v += wide(r.addend[row][column]);
      if (r.relu && !(v > 0) && v == v) v = 0;
      if (r.gate != nullptr && flushed(wide(r.gate[row][column])) <= 0) v = 0;
      r.rows[row][column] = round(v);
    }
  }
}

void finish(const TileResult& r) { finish_rows(r, to_bfloat16); }
void finish_wide(const WideTileResult& r) {
  finish_rows(r, [](float v) { return v; });
}

void split(const float* from, std::int64_t n, bfloat16* high, bfloat16* low) {
  for (std::int64_t i = 0; i < n; ++i) {
    // The machine's conversion takes a subnormal number for zero.
    high[i] = to_bfloat16(flushed(from[i]));
    low[i] = to_bfloat16(flushed(from[i] - to_float(high[i])));
  }
}

void copy_rows(const bfloat16* from, std::int64_t from_step, std::int64_t count, std::int64_t length, bfloat16* to,
               std::int64_t to_step) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::copy_n(from + i * from_step, length, to + i * to_step);
    std::fill(to + i * to_step + length, to + (i + 1) * to_step, bfloat16{});
  }
}

void stream_rows(const bfloat16* from, std::int64_t from_step, std::int64_t count, std::int64_t length, bfloat16* to,
                 std::int64_t rows) {
  copy_rows(from, from_step, count, length, to, 32);
  std::fill(to + count * 32, to + rows * 32, bfloat16{});
}

void round(const float* from, std::int64_t n, bfloat16* to) { std::transform(from, from + n, to, to_bfloat16); }

void copy_patches(const bfloat16* from, std::int64_t from_step, std::int64_t count, const std::int64_t* run_offsets,
                  std::int64_t runs, std::int64_t length, bfloat16* to, std::int64_t to_step) {
  for (std::int64_t i = 0; i < count; ++i) {
    bfloat16* out = to + i * to_step;
    for (std::int64_t run = 0; run < runs; ++run) {
      out = std::copy_n(from + i * from_step + run_offsets[run], length, out);
    }
    std::fill(out, to + (i + 1) * to_step, bfloat16{});
  }
}

void interleave(const bfloat16* even, const bfloat16* odd, std::int64_t length, bfloat16* to, std::int64_t to_step) {
  for (std::int64_t i = 0; i < (length + 15) / 16 * 16; ++i) {
    bfloat16* pair = to + i / 16 * to_step + i % 16 * 2;
    pair[0] = even != nullptr && i < length ? even[i] : bfloat16{};
    pair[1] = odd != nullptr && i < length ? odd[i] : bfloat16{};
  }
}

void interleave_mixed(const bfloat16* even, const bfloat16* odd, bfloat16* to, std::int64_t to_step) {
  for (std::int64_t i = 0; i < 32; ++i) {
    bfloat16* const pair = to + mixed_tile(i) * to_step + mixed_column(i) * 2;
    pair[0] = even != nullptr ? even[i] : bfloat16{};
    pair[1] = odd != nullptr ? odd[i] : bfloat16{};
  }
}

void pair_rows_mixed(const bfloat16* from, std::int64_t from_step, std::int64_t pairs, bfloat16* to,
                     std::int64_t to_step) {
  for (; pairs > 0; --pairs, from += 2 * from_step, to += 32) interleave_mixed(from, from + from_step, to, to_step);
}

void pair_parts(const bfloat16* from, std::int64_t pair_step, std::int64_t pairs, std::span<const PairPart> parts,
                bfloat16* to) {
  for (; pairs > 0; --pairs, from += pair_step, to += 32) {
    std::fill_n(to, 32, bfloat16{});
    for (const PairPart& part : parts) {
      for (std::size_t i = 0; i < 32; ++i) {
        if ((part.these >> i & 1) != 0) to[i] = from[part.from + part.index[i]];
      }
    }
  }
}

void transpose(const bfloat16* const* rows, std::int64_t first, std::int64_t length, bfloat16* to) {
  for (int i = 0; i < 16; ++i) {
    for (int row = 0; row < 32; ++row)
      to[i * 32 + row] = rows[row] != nullptr && i < length ? rows[row][first + i] : bfloat16{};
  }
}

void pair_columns(const bfloat16* from, std::int64_t from_step, std::int64_t rows, std::int64_t length, bfloat16* to) {
  for (std::int64_t row = 0; row < 16; ++row) {
    for (std::int64_t i = 0; i < 32; ++i) {
      to[i / 2 * 32 + row * 2 + i % 2] = row < rows && i < length ? from[row * from_step + i] : bfloat16{};
    }
  }
}

void store_sums(const float* c, std::int64_t rows, std::int64_t columns, float* to, std::int64_t to_step,
                bool /*past_caches*/) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < columns; ++i) to[row * to_step + i] = c[i / 16 * kTileSums + row * 16 + i % 16];
  }
}

void add_products(const float* c, std::int64_t parts, std::int64_t part_step, bool mixed, std::int64_t rows,
                  std::int64_t columns, float* to, std::int64_t to_step) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < columns; ++i) {
      const std::int64_t tile = mixed ? mixed_tile(i) : i / 16, column = mixed ? mixed_column(i) : i % 16;
      const float* const from = c + tile * kTileSums + row * 16 + column;
      float sum = *from;
      for (std::int64_t part = 1; part < parts; ++part) sum += from[part * part_step];
      to[row * to_step + i] = sum;
    }
  }
}

void add_rows(const bfloat16* from, std::int64_t from_step, std::int64_t count, std::int64_t length, float* sums) {
  for (std::int64_t row = 0; row < count; ++row) {
    for (std::int64_t i = 0; i < length; ++i) sums[i] += to_float(from[row * from_step + i]);
  }
}

void unpool(const PooledRow& row, std::int64_t channels, bfloat16* to, std::int64_t to_step) {
  for (std::size_t pixel = 0; pixel < row.columns.size(); ++pixel, to += to_step) {
    const auto& [left, right] = row.columns[pixel];
    for (std::int64_t c = 0; c < channels; ++c) {
      float sum = 0;
      for (std::int64_t i = 0; i < row.rows; ++i) {
        for (std::int64_t j = left; j < right; ++j) {
          const std::int64_t at = i * row.row_step + j * row.pixel_step + c;
          const std::int64_t tap = row.tap + static_cast<std::int64_t>(pixel) - i * row.row_taps - j * row.column_taps;
          if (row.index[at] == tap) sum += to_float(row.dy[at]);
        }
      }
      to[c] = to_bfloat16(sum);
    }
  }
}

}  // namespace

const TileCode& scalar_tile_code() {
  using R = ScalarRegisters;
  static constexpr TileCode code = {
      {finish, finish_wide, copy_rows, stream_rows, split, round, copy_patches, interleave, interleave_mixed,
       pair_rows_mixed, pair_parts, transpose, pair_columns, store_sums, add_products, add_rows, unpool},
      nothing,
      nothing,
      {{multiply_tiles<R, 1, 1>, multiply_tiles<R, 1, 2>}, {multiply_tiles<R, 2, 1>, multiply_tiles<R, 2, 2>}},
      add_tiles<R>};
  return code;
}

const TileCode& tile_code(Tiles tiles) {
  if (tiles == Tiles::scalar) return scalar_tile_code();
  const TileCode* const code = machine_tile_code(tiles);
  RIDGELINE_CHECK(code != nullptr, "this architecture has such tiles");
  return *code;
}

}  // namespace ridgeline::device::tiles
