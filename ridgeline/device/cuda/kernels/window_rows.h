// ridgeline/device/cuda/kernels/window_rows.h
//
// The windows of a convolution over few channels, as words of shared memory. A row of an NHWC image of C channels is a
// row of w * C values, and the values of a window's row are neighbours in it: s * C of them, every stride * C values.
// So nothing is padded to four or eight channels. Tensor cores take pairs of values, and a pair must begin at an even
// place: a window that begins at an odd one begins one value earlier, with a weight of zero. Where stride * C is odd,
// windows of even and of odd columns differ in that, and are two classes with weights of their own.
//
// A block keeps the rows under some rows of results in shared memory as they are, with zeros outside of the image.
// Values outside of a window are multiplied by zeros: one that is not finite may reach the results beside its own.
#pragma once

#include "ridgeline/device/cuda/kernels/matrix_tile.h"
#include "ridgeline/device/cuda/kernels/pointers.h"

namespace ridgeline::cuda {

inline constexpr int kWindowQuads = 2800;  // 16 bytes each of a block's rows
inline constexpr int kWindowPairs = 256;   // of a window, at most
inline constexpr int kPairPlaces = 288;    // with those that fill up groups

struct WindowRows {
  i32 n = 0, h = 0, width = 0;  // of a row in values
  i32 oh = 0, ow = 0, k = 0;
  i32 r = 0, taps = 0;       // rows of a window and the values of each
  i32 stride = 1, step = 1;  // from window to window: rows, and values of a row
  i32 top = 0, left = 0;     // rows and values of padding
  i32 lead = 0;              // zeros before a row in shared memory, a multiple of 8
  i32 pairs = 0, steps = 0;  // pairs of a window's row; steps of 8 pairs of a window
  i32 classes = 1;
  i32 tile_rows = 1, tiles = 1;  // rows of results of a block; blocks of an image
  bool whole = false;            // rows of the image are whole quads
  Divisor quads, row_pairs, image_tiles, columns[2];

  i64 image() const { return static_cast<i64>(n) * h * width; }
  i64 result() const { return static_cast<i64>(n) * oh * ow * k; }
  i64 weights() const { return static_cast<i64>(k) * r * taps; }

  i64 quads_under(i32 rows) const { return i64{rows_under(rows)} * quads.value; }

  RIDGELINE_DEVICE i32 rows_under(i32 rows) const { return (rows - 1) * stride + r; }
  RIDGELINE_DEVICE i32 columns_of(i32 which) const { return (ow - which + classes - 1) / classes; }
  // Where the window of a column begins in its row in shared memory.
  RIDGELINE_DEVICE i32 begin(i32 column) const { return lead - left + column * step; }
  RIDGELINE_DEVICE i32 shift(i32 which) const { return begin(which) & 1; }
};

// All of a convolution's except how many rows a block has, which set_tile_rows() sets.
struct DirectShape;
WindowRows windows_of(const DirectShape& shape);
void set_tile_rows(WindowRows& s, i32 rows);
// Units of `results` results of one class in a tile of so many rows.
i64 units_of(const WindowRows& s, i32 rows, i32 results);
// Whether the rows and results of a tile of one row fit into a block of the gradient's kernel.
bool fits_gradient(const WindowRows& s);

// A result of a tile of rows.
struct WindowPlace {
  i32 row, column;
};
RIDGELINE_DEVICE WindowPlace window_place(const WindowRows& s, i32 which, i32 at) {
  u32 row = static_cast<u32>(at);
  const i32 column = static_cast<i32>(s.columns[which].split(row));
  return {static_cast<i32>(row), which + s.classes * column};
}
// In bytes from the begin of the rows in shared memory.
RIDGELINE_DEVICE i32 window_bytes(const WindowRows& s, const WindowPlace& place) {
  return place.row * s.stride * static_cast<i32>(s.quads.value) * 16 + 2 * (s.begin(place.column) & ~1);
}

// Where the pairs of a window are, in bytes from its begin; in the order of pair_place().
struct PairTable {
  i32 bytes[kPairPlaces];
};
// Lane t of four takes pairs t and t + 4 of a step, which are neighbours here.
RIDGELINE_DEVICE int pair_place(int pair) { return pair / 8 * 8 + pair % 4 * 2 + pair % 8 / 4; }

template <int kThreads>
RIDGELINE_DEVICE void fill_pairs(const WindowRows& s, int pairs, int thread, PairTable& table) {
  for (int pair = thread; pair < pairs; pair += kThreads) {
    u32 row = static_cast<u32>(pair);
    const u32 at = s.row_pairs.split(row);
    const bool inside = static_cast<i32>(row) < s.r;  // else its weights are zeros
    table.bytes[pair_place(pair)] = inside ? static_cast<i32>((row * s.quads.value * 4 + at) * sizeof(u32)) : 0;
  }
}

// Starts the copies of the rows of image n under `rows` rows of results from `first` on.
template <int kThreads, class T>
RIDGELINE_DEVICE void copy_rows(const WindowRows& s, const T* x, i32 n, i32 first, i32 rows, int thread, Quad* to) {
  const i32 quads = static_cast<i32>(s.quads.value), all = s.rows_under(rows) * quads;
  for (i32 i = thread; i < all; i += kThreads) {
    u32 row = static_cast<u32>(i);
    const i32 at = static_cast<i32>(s.quads.split(row)) * 8 - s.lead;
    const i32 line = first * s.stride - s.top + static_cast<i32>(row);
    const bool inside = line >= 0 && line < s.h;
    const T* const from = x + (static_cast<i64>(n) * s.h + (inside ? line : 0)) * s.width;
    if (s.whole) {
      const bool there = inside && at >= 0 && at < s.width;
      start_copy(to + i, from + (there ? at : 0), there);
    } else {
      Pack<T, 8> values;
      RIDGELINE_UNROLL
      for (int v = 0; v < 8; ++v) {
        const bool there = inside && at + v >= 0 && at + v < s.width;
        values.at[v] = there ? load_pack<1>(from + at + v).at[0] : typename Storage<T>::Bits(0);
      }
      to[i] = __builtin_bit_cast(Quad, values);
    }
  }
}

RIDGELINE_DEVICE u32 word_at(const Quad* rows, i32 bytes) {
  return *reinterpret_cast<const u32*>(reinterpret_cast<const char*>(rows) + bytes);
}

}  // namespace ridgeline::cuda
