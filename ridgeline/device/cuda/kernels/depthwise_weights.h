// ridgeline/device/cuda/kernels/depthwise_weights.h
//
// The gradient of depthwise 3x3 convolutions with respect to the weights: summed in f32 over the pixels of a thread's
// strips, then over a block by a tree, then over the blocks in double. Forms as those of depthwise.h.
#pragma once

#include "ridgeline/device/cuda/kernels/depthwise_strips.h"
#include "ridgeline/device/cuda/kernels/rows_of_channels.h"

namespace ridgeline::cuda {

// partial[chunk][tap][channel]: a block's strips are a chunk.
template <class T, int V, int kPixels, int kStride>
struct DepthwiseWeightSums {
  struct Parameters {
    const T *x, *dy;
    float* partial;
    PoolShape s;
    Strips strips;  // of dy, kPixels wide
    u32 rounds;     // strips of a thread
    u32 chunks() const { return strips.groups(rounds); }
  };
  using Shared = RowSumsShared<kDepthwiseTaps, V>;
  static constexpr int kThreads = kDepthwiseThreads;
  static_assert(kThreads == kRowThreads);
  static constexpr int kBlocksAtOnce = kDepthwiseBlocks<T>;
  static Blocks blocks(const Parameters& p) { return {p.chunks() * p.strips.tiles.value}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.s.pixels() * p.s.c);
    list.reads(p.dy, p.s.pooled() * p.s.c);
    list.writes(p.partial, static_cast<i64>(kDepthwiseTaps) * p.chunks() * p.s.c);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    const Strips& strips = p.strips;
    const PoolShape& s = p.s;
    block.each_thread([&](int thread) {
      const auto place = strips.place(block.x(), thread, p.rounds);
      float sums[kDepthwiseTaps][V] = {};
      u32 strip = place.first;
      RIDGELINE_NO_UNROLL
      for (u32 round = 0; round < p.rounds && !place.idle && strip < strips.strips; ++round, strip += strips.each) {
        const auto corner = strips.corner(strip);
        const i32 column = corner.column * kPixels, rows = strips.last_row(corner, s.oh) - corner.row;
        LineReader<T> x(p.x, corner.n, s.h, s.w, s.c, place.vector * V, corner.row * s.sh - s.top,
                        column * s.sw - s.left);
        LineReader<T> dy(p.dy, corner.n, s.oh, s.ow, s.c, place.vector * V, corner.row, column);
        if constexpr (kStride == 1)
          walk(x, dy, rows, sums);
        else if constexpr (kStride == 2)
          walk_by_two(x, dy, rows, sums);
        else
          gather(x, dy, s.sh, rows, sums);
      }
      if (static_cast<u32>(thread) >= strips.each * strips.lanes.value) return;
      RIDGELINE_UNROLL
      for (int tap = 0; tap < kDepthwiseTaps; ++tap) store(sums[tap], shared.sums[tap] + thread * V);
    });
    u32 chunk = block.x();
    const u32 tile = strips.tiles.split(chunk);
    write_shared_sums<kDepthwiseTaps, V>(block, static_cast<int>(strips.lanes.value), static_cast<int>(strips.each),
                                         s.c, tile, chunk, shared, p.partial);
  }

 private:
  static constexpr int kColumns = kStride * (kPixels - 1) + 3;  // of x

  // Row r of the taps, of a line of x and one of dy.
  static RIDGELINE_DEVICE void add(int r, const float (&x)[kColumns][V], const float (&dy)[kPixels][V],
                                   float (&sums)[kDepthwiseTaps][V]) {
    RIDGELINE_UNROLL
    for (int pixel = 0; pixel < kPixels; ++pixel) {
      RIDGELINE_UNROLL
      for (int q = 0; q < 3; ++q) {
        RIDGELINE_UNROLL
        for (int v = 0; v < V; ++v)
          sums[3 * r + q][v] = fused(x[kStride * pixel + q][v], dy[pixel][v], sums[3 * r + q][v]);
      }
    }
  }

  // A line of x meets the lines of dy from its own row up to two above.
  static RIDGELINE_DEVICE void walk(LineReader<T>& x, LineReader<T>& dy, i32 rows, float (&sums)[kDepthwiseTaps][V]) {
    float a[kPixels][V] = {}, b[kPixels][V] = {}, c[kPixels][V];
    Raw<T, V> next_x[kColumns], next_dy[kPixels];
    x.next(true, next_x);
    dy.next(true, next_dy);
    i32 row = 0;
    const auto step = [&](float(&fresh)[kPixels][V], const float(&above)[kPixels][V],
                          const float(&highest)[kPixels][V]) {
      float line[kColumns][V];
      widen_line(next_x, line);
      widen_line(next_dy, fresh);
      ++row;
      x.next(row < rows + 2, next_x);
      dy.next(row < rows, next_dy);
      add(0, line, fresh, sums);
      add(1, line, above, sums);
      add(2, line, highest, sums);
    };
    RIDGELINE_NO_UNROLL
    while (row < rows + 2) {  // beyond the end lines are zero
      step(c, b, a);
      step(a, c, b);
      step(b, a, c);
    }
  }

  // The first line of x that a row of dy meets is also the last one of the row above.
  static RIDGELINE_DEVICE void walk_by_two(LineReader<T>& x, LineReader<T>& dy, i32 rows,
                                           float (&sums)[kDepthwiseTaps][V]) {
    float above[kPixels][V] = {};
    Raw<T, V> high[kColumns], middle[kColumns], next_dy[kPixels];
    x.next(true, high);
    x.next(true, middle);
    dy.next(true, next_dy);
    RIDGELINE_NO_UNROLL
    for (i32 row = 0; row <= rows; ++row) {
      float line[kColumns][V], fresh[kPixels][V];
      widen_line(next_dy, fresh);
      dy.next(row + 1 < rows, next_dy);
      widen_line(high, line);
      x.next(row < rows, high);
      add(0, line, fresh, sums);
      add(2, line, above, sums);
      widen_line(middle, line);
      x.next(row + 1 < rows, middle);
      add(1, line, fresh, sums);
      RIDGELINE_UNROLL
      for (int pixel = 0; pixel < kPixels; ++pixel) {
        RIDGELINE_UNROLL
        for (int v = 0; v < V; ++v) above[pixel][v] = fresh[pixel][v];
      }
    }
  }

  // One pixel at a time.
  static RIDGELINE_DEVICE void gather(const LineReader<T>& x, LineReader<T>& dy, i32 stride, i32 rows,
                                      float (&sums)[kDepthwiseTaps][V]) {
    static_assert(kStride != 0 || kPixels == 1);
    RIDGELINE_NO_UNROLL
    for (i32 row = 0; row < rows; ++row) {
      Raw<T, V> pixel[kPixels];
      dy.next(true, pixel);
      float gradient[kPixels][V];
      widen_line(pixel, gradient);
      LineReader<T> window = x.below(row * stride);
      RIDGELINE_UNROLL
      for (int r = 0; r < 3; ++r) {
        Raw<T, V> raw[kColumns];
        window.next(true, raw);
        float line[kColumns][V];
        widen_line(raw, line);
        add(r, line, gradient, sums);
      }
    }
  }
};

// Sums over the chunks, for each tap and channel.
template <class To>
struct DepthwiseWeightTotals {
  struct Parameters {
    const float* partial;
    u32 chunks;
    i64 channels;
    To* dw;
    RIDGELINE_DEVICE i64 sums() const { return kDepthwiseTaps * channels; }
  };
  using Shared = ChunkSumsShared<1>;
  static constexpr int kThreads = kSumThreads;
  static Blocks blocks(const Parameters& p) { return {sum_chunks_blocks(p.sums())}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.partial, p.chunks * p.sums());
    list.writes(p.dw, p.sums());
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    sum_chunks<1>(block, p.partial, p.chunks, p.sums(), shared, [&](i64 i, const double(&sum)[1]) {
      const i64 tap = i / p.channels, channel = i % p.channels;
      store_one(static_cast<float>(sum[0]), p.dw + channel * kDepthwiseTaps + tap);
    });
  }
};

}  // namespace ridgeline::cuda
