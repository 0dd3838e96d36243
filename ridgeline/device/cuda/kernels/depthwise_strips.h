// ridgeline/device/cuda/kernels/depthwise_strips.h
//
// How depthwise kernels divide an image: a thread has V neighbouring channels of a strip, which is a few pixels wide
// and some rows high, and walks down its rows; so each line that it reads serves all rows of taps. A block has a tile
// of channels of neighbouring strips, whose common columns the cache serves. Reads of lines, and the taps of a tile.
#pragma once

#include "ridgeline/device/cuda/kernels/pool.h"

namespace ridgeline::cuda {

inline constexpr int kDepthwiseTaps = 9;
inline constexpr int kDepthwiseThreads = 256;
// Of 16-bit types two blocks run at once on a multiprocessor; lines of f32 take more registers.
template <class T>
inline constexpr int kDepthwiseBlocks = sizeof(T) == 2 ? 2 : 1;

struct Strips {
  static constexpr u32 kMostLanes = 32;

  u32 strips = 0;          // of all images
  u32 vectors = 0;         // of a pixel
  u32 each = 1;            // strips of a block
  i32 rows = 0;            // of a strip; the last one of an image may have fewer
  Divisor lanes, tiles;    // vectors of a tile, tiles of a pixel
  Divisor columns, parts;  // strips beside and below each other in an image

  Strips() = default;
  // `across`: strips beside each other; `width`: channels of a thread; `wanted`: threads that fill the card.
  Strips(i64 images, i64 all_rows, i64 across, i64 channels, int width, i64 wanted)
      : vectors(static_cast<u32>(channels / width)) {
    if (images * all_rows * across * vectors == 0) return;  // nothing to do
    columns = Divisor(across);
    choose_lanes();
    each = kDepthwiseThreads / lanes.value;
    const i64 most = divided_up(all_rows, kLeastRows);
    i64 below = divided_up(wanted, images * across * vectors);
    if (below > most) below = most;
    rows = static_cast<i32>(divided_up(all_rows, below));
    parts = Divisor(divided_up(all_rows, rows));
    strips = static_cast<u32>(images * across * parts.value);
  }
  // Blocks that take `rounds` strips a thread.
  u32 groups(u32 rounds = 1) const { return static_cast<u32>(divided_up(strips, i64{each} * rounds)); }

  struct Place {
    u32 lane, tile, first;  // `first`: strip of the first round
    bool idle;
    u32 vector;
  };
  RIDGELINE_DEVICE Place place(u32 block, int thread, u32 rounds = 1) const {
    Place place;
    place.tile = tiles.split(block);
    u32 strip = static_cast<u32>(thread);
    place.lane = lanes.split(strip);
    place.vector = place.tile * lanes.value + place.lane;
    place.first = block * each * rounds + strip;
    place.idle = strip >= each || place.vector >= vectors;
    return place;
  }
  struct Corner {
    u32 n;
    i32 row, column;  // `column` counts strips
  };
  RIDGELINE_DEVICE Corner corner(u32 strip) const {
    Corner corner;
    corner.column = static_cast<i32>(columns.split(strip));
    corner.row = static_cast<i32>(parts.split(strip)) * rows;
    corner.n = strip;
    return corner;
  }
  RIDGELINE_DEVICE i32 last_row(const Corner& corner, i32 all) const {
    return corner.row + rows < all ? corner.row + rows : all;
  }

 private:
  static constexpr i64 kLeastRows = 7;

  // Of the numbers of lanes that read at least half a line of the cache at once, the one that leaves fewest threads
  // idle.
  void choose_lanes() {
    const u32 fewest = static_cast<u32>(divided_up(vectors, kMostLanes));
    u32 best = 0;
    for (u32 count = fewest; count <= 2 * fewest; ++count) {
      const u32 some = static_cast<u32>(divided_up(vectors, count));
      if (count > fewest && some < kMostLanes / 2) break;
      const u32 busy = static_cast<u32>(i64{kDepthwiseThreads / some} * vectors * 1000 / count);
      if (busy <= best) continue;
      best = busy;
      lanes = Divisor(some);
      tiles = Divisor(count);
    }
  }
};

// The taps of a block's channels, w [C,3,3,1] as [tap][channel]; `turned` puts the last first.
template <int V>
struct TapsShared {
  static constexpr int kPitch = Strips::kMostLanes * V + 4;  // a step of 4 banks between taps
  alignas(16) float at[kDepthwiseTaps][kPitch];
};
template <class T, int V>
RIDGELINE_DEVICE void stage_taps(const T* w, const Strips& strips, u32 tile, i32 channels, bool turned, int thread,
                                 TapsShared<V>& shared) {
  const i32 width = static_cast<i32>(strips.lanes.value) * V, first = static_cast<i32>(tile) * width;
  const i32 count = channels - first < width ? channels - first : width;
  for (i32 i = thread; i < count * kDepthwiseTaps; i += kDepthwiseThreads) {
    const i32 channel = i / kDepthwiseTaps, tap = i % kDepthwiseTaps;
    shared.at[turned ? kDepthwiseTaps - 1 - tap : tap][channel] = load_one(w + first * kDepthwiseTaps + i);
  }
}
template <int V>
RIDGELINE_DEVICE void read_taps(const TapsShared<V>& shared, u32 lane, float (&taps)[kDepthwiseTaps][V]) {
  RIDGELINE_UNROLL
  for (int tap = 0; tap < kDepthwiseTaps; ++tap) load(shared.at[tap] + lane * V, taps[tap]);
}

// Reads the lines of a strip one after the other, each from the same column on: V channels from `channel` on of image
// `n`. Elements outside the image are zeros, and so is a line that is not wanted.
template <class T>
struct LineReader {
  const T* at;
  i32 row, rows, column, columns, channels;

  RIDGELINE_DEVICE LineReader(const T* images, u32 n, i32 all_rows, i32 all_columns, i32 all_channels, u32 channel,
                              i32 first_row, i32 first_column)
      : row(first_row), rows(all_rows), column(first_column), columns(all_columns), channels(all_channels) {
    at = images + (static_cast<i64>(n) * rows * columns + row * columns + column) * channels + channel;
  }
  template <int V, int kColumns>
  RIDGELINE_DEVICE void next(bool wanted, Raw<T, V> (&to)[kColumns]) {
    const bool there = wanted && static_cast<u32>(row) < static_cast<u32>(rows);
    RIDGELINE_UNROLL
    for (int k = 0; k < kColumns; ++k) {
      to[k] = Raw<T, V>{};
      if (there && static_cast<u32>(column + k) < static_cast<u32>(columns))
        to[k] = load_raw<V>(at + static_cast<u32>(k * channels));
    }
    ++row;
    at += columns * channels;
  }
  // The reader that begins some lines further down.
  RIDGELINE_DEVICE LineReader below(i32 lines) const {
    LineReader reader = *this;
    reader.row += lines;
    reader.at += static_cast<i64>(lines) * columns * channels;
    return reader;
  }
};
template <class T, int V, int kColumns>
RIDGELINE_DEVICE void widen_line(const Raw<T, V> (&from)[kColumns], float (&to)[kColumns][V]) {
  RIDGELINE_UNROLL
  for (int k = 0; k < kColumns; ++k) widen(from[k], to[k]);
}

}  // namespace ridgeline::cuda
