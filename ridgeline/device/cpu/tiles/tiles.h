// ridgeline/device/cpu/tiles/tiles.h
//
// The small interface on which all kernels of this folder are built: products of bf16 tiles with f32 sums, and the
// moves that pack values into tiles. Three implementations: the machine's tile registers with AVX-512, plain loops,
// which every machine can run and which give the same bits, and the bf16 dot products of AVX-512 or of Arm, whose sums
// are rounded in another order. Tables of functions without state; any thread.
//
// A tile of A is 16 rows of 32 values. A tile of B is 16 rows, each one pair of depths: 16 columns of 2 values, so that
// its 512 values are contiguous. A tile of C is 16 x 16 sums.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "ridgeline/core/dtype.h"
#include "ridgeline/device/cpu/pool/pool_geometry.h"

namespace ridgeline::device::tiles {

constexpr std::int64_t kTileRows = 16;
constexpr std::int64_t kTileDepth = 32;
constexpr std::int64_t kTileColumns = 16;
constexpr std::int64_t kTileValues = 512;  // of A or B
constexpr std::int64_t kTileSums = 256;    // of C
constexpr std::int64_t kBlock = 32;        // rows and columns of a product of 2 x 2 tiles

// Values to be prefetched into the second-level cache, some lines at a time while something else is computed: `runs` of
// `length` values, `step` apart, and then others. The processor itself does not prefetch short runs. A plain value.
class LinesAhead {
 public:
  LinesAhead() = default;
  LinesAhead(const bfloat16* from, std::int64_t runs, std::int64_t length, std::int64_t step,
             const LinesAhead* then = nullptr)
      : from_(from), runs_(runs), length_(length), step_(step), then_(then) {}
  // Whether nothing follows what is left.
  bool last() const { return then_ == nullptr; }
  std::int64_t lines() const {
    return runs_ * ((length_ + kTileDepth - 1) / kTileDepth) + (then_ != nullptr ? then_->lines() : 0);
  }
  void fetch(std::int64_t lines) {
    for (; lines > 0; --lines) {
      while (runs_ == 0) {
        if (then_ == nullptr) return;
        *this = *then_;
      }
      __builtin_prefetch(from_ + at_, 0, 2);
      at_ += kTileDepth;
      if (at_ < length_) continue;
      at_ = 0;
      from_ += step_;
      --runs_;
    }
  }

 private:
  const bfloat16* from_ = nullptr;
  std::int64_t runs_ = 0, length_ = 0, step_ = 0;
  const LinesAhead* then_ = nullptr;
  std::int64_t at_ = 0;  // in the run
};

// C = [C +] sum over steps of A(step) B(step), for up to 2 x 2 tiles.
struct TileProduct {
  const bfloat16* a[2];           // the first value of either row of tiles, at step 0
  std::int64_t a_row;             // values between rows of a tile; not used if A is turned
  const std::int64_t* a_offsets;  // values from step 0 to each step
  const bfloat16* b[2];
  const std::int64_t* b_offsets;
  std::int64_t steps;
  float* c;  // [row of tiles][column of tiles][16][16], always 2 columns apart
  bool add;
  // What is read soon, of which each step prefetches some lines; may be null.
  LinesAhead* ahead = nullptr;
  std::int64_t ahead_lines = 0;
  // The sums of an earlier product (2 x 2 tiles), which are meanwhile added to those at `onto`, or stored there; may be
  // null. `soon`: what the next product adds to, prefetched into the first-level cache; may be null.
  const float* earlier = nullptr;
  float* onto = nullptr;
  bool add_earlier = false;
  const float* soon = nullptr;
  // Not 0: the sums at `c` are in rows instead, this many sums apart.
  std::int64_t c_row = 0;
  // Tiles of A have the layout of those of B: 16 pairs of depths, in each the pairs of 16 rows. Only if the code
  // turns_a.
  bool a_turned = false;
};

// How one row of tiles (16 rows, up to 32 columns) of finished sums is stored.
template <class To>
struct TileResultOf {
  const float* c;                     // [column of tiles][16][16]
  std::int64_t columns;               // that exist
  const float* bias;                  // 32 values, or null
  bool relu;                          // max(v, 0); NaN stays
  To* const* rows;                    // the destination of each of the 16 rows; null: none
  const To* const* addend = nullptr;  // a row of values to add to each of them, or null
  bool mixed = false;                 // 32 columns of B were interleaved mixed
  const To* const* gate = nullptr;    // a row for each of them, or null: 0 where that is at most 0, or subnormal
  bool past_caches = false;           // if a row is a whole line
};
using TileResult = TileResultOf<bfloat16>;
using WideTileResult = TileResultOf<float>;

// Contiguous columns of a tile of B, for both pixels of a pair or for one of them: value i of a row of the tile is
// value from + index[i] after the pair's address, for the i in `these`.
struct PairPart {
  std::int64_t from = 0;
  std::uint32_t these = 0;
  std::array<std::uint16_t, kTileDepth> index{};  // below 32
};

// Where the gradient of max pooling comes from, for a row of the image that it pools.
struct PooledRow {
  const bfloat16* dy;  // of the pooled image, and its index, from the first row of windows that covers the row on
  const std::uint8_t* index;
  std::int64_t rows;                  // of windows that cover it
  std::int64_t row_step;              // values from one of them to the next
  std::int64_t pixel_step;            // values from one window of a row to the next
  std::int64_t tap;                   // position of pixel 0 in the first window
  std::int64_t row_taps;              // decrease of positions in the next row of windows
  std::int64_t column_taps;           // and in the next window of a row
  std::span<const Covering> columns;  // the windows that cover each pixel
};

// Functions that pack values into tiles, and store sums from them.
struct TileMoves {
  // Sums plus bias, rounded to nearest even.
  void (*finish)(const TileResult&);
  // The same, not rounded.
  void (*finish_wide)(const WideTileResult&);
  // Copies `count` rows of `length` values, each padded with zeros up to `to_step`.
  void (*copy_rows)(const bfloat16* from, std::int64_t from_step, std::int64_t count, std::int64_t length, bfloat16* to,
                    std::int64_t to_step);
  // `rows` rows of 32 values at `to`: `count` rows of `length` values, zeros elsewhere. Whole lines bypass the caches.
  void (*stream_rows)(const bfloat16* from, std::int64_t from_step, std::int64_t count, std::int64_t length,
                      bfloat16* to, std::int64_t rows);
  // Splits n values into sums of two bf16: each is high + low, within 2^-16 of it.
  void (*split)(const float* from, std::int64_t n, bfloat16* high, bfloat16* low);
  // Rounds n values to nearest even.
  void (*round)(const float* from, std::int64_t n, bfloat16* to);
  // For each of `count` pixels joins the runs of `length` values at from + run_offsets[], and pads with zeros up to
  // `to_step`. Reads and writes up to 64 values beyond the last run and the last pixel.
  void (*copy_patches)(const bfloat16* from, std::int64_t from_step, std::int64_t count,
                       const std::int64_t* run_offsets, std::int64_t runs, std::int64_t length, bfloat16* to,
                       std::int64_t to_step);
  // Pairs {even[i], odd[i]} for `length` columns: those of each 16 at to + block * to_step; zeros up to whole blocks.
  // A null row is zeros.
  void (*interleave)(const bfloat16* even, const bfloat16* odd, std::int64_t length, bfloat16* to,
                     std::int64_t to_step);
  // The same for a block of 32 columns, in the order that takes the fewest moves: column i of the block is in its tile
  // i / 4 % 2, at i / 8 * 4 + i % 4.
  void (*interleave_mixed)(const bfloat16* even, const bfloat16* odd, bfloat16* to, std::int64_t to_step);
  // The same for `pairs` of rows, `from_step` apart: as many rows of two tiles of B, `to_step` apart.
  void (*pair_rows_mixed)(const bfloat16* from, std::int64_t from_step, std::int64_t pairs, bfloat16* to,
                          std::int64_t to_step);
  // Rows of a tile of B for `pairs` of pixels, `pair_step` apart, from the parts of its columns; zeros in others. Reads
  // 32 values for each part.
  void (*pair_parts)(const bfloat16* from, std::int64_t pair_step, std::int64_t pairs, std::span<const PairPart> parts,
                     bfloat16* to);
  // The tile of A [16][32] whose columns are the 32 `rows`, `length` up to 16 values of each from `first` on; null rows
  // and missing values are zeros. Turned if the code turns_a (TileProduct).
  void (*transpose)(const bfloat16* const* rows, std::int64_t first, std::int64_t length, bfloat16* to);
  // The tile of B whose columns are up to 16 `rows` of up to 32 values; zeros elsewhere. Also turns a tile of C.
  void (*pair_columns)(const bfloat16* from, std::int64_t from_step, std::int64_t rows, std::int64_t length,
                       bfloat16* to);
  // Stores a row of tiles unchanged, `rows` by `columns` sums; optionally whole lines bypass the caches.
  void (*store_sums)(const float* c, std::int64_t rows, std::int64_t columns, float* to, std::int64_t to_step,
                     bool past_caches);
  // Adds a row of tiles of `parts` products, `part_step` sums apart, in order: `rows` by `columns` sums; columns of a
  // block that was interleaved mixed are put back in order.
  void (*add_products)(const float* c, std::int64_t parts, std::int64_t part_step, bool mixed, std::int64_t rows,
                       std::int64_t columns, float* to, std::int64_t to_step);
  // sums[i] += each of `count` rows of `length` values, in order.
  void (*add_rows)(const bfloat16* from, std::int64_t from_step, std::int64_t count, std::int64_t length, float* sums);
  // A row of the gradient of max pooling: `channels` of each pixel, `to_step` apart. Each value is the sum of its
  // windows' contributions, in order, rounded to nearest even; subnormal values may become zero.
  void (*unpool)(const PooledRow& row, std::int64_t channels, bfloat16* to, std::int64_t to_step);
};

struct TileCode : TileMoves {
  // Called on each thread, around everything that multiplies.
  void (*enter)();
  void (*leave)();
  // Indexed by rows of tiles - 1, columns of tiles - 1.
  void (*multiply[2][2])(const TileProduct&);
  // Adds or stores earlier sums without a product.
  void (*add_tiles)(const float* earlier, float* onto, bool add);
  // Whether products take turned tiles of A, too, and transpose() makes such.
  bool turns_a = false;
};

enum class Tiles {
  amx,     // the machine's tile registers
  dots,    // its bf16 dot products of vectors, or of small matrices
  scalar,  // plain loops
};
const TileCode& tile_code(Tiles tiles);
const TileCode& scalar_tile_code();
// The other implementations, from the architecture's file; null if it has none of that kind. To be used only on
// machines that have the instructions.
const TileCode* machine_tile_code(Tiles tiles);

// For x86-64: tiles_amx.cpp, tiles_dots_avx512.cpp and moves_avx512.cpp, which both use. For Arm, which has no tile
// registers: tiles_dots_arm.cpp and moves_arm.cpp.
const TileCode& amx_tile_code();
const TileCode& dot_tile_code();
const TileMoves& vector_tile_moves();

// While alive, the calling thread may multiply.
class TileScope {
 public:
  explicit TileScope(const TileCode& code) : code_(code) { code_.enter(); }
  ~TileScope() { code_.leave(); }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;

 private:
  const TileCode& code_;
};

}  // namespace ridgeline::device::tiles
