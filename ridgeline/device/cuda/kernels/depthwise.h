// ridgeline/device/cuda/kernels/depthwise.h
//
// Depthwise 3x3 convolutions over NHWC, any stride and padding: forward with bias and relu, gradient with respect to
// the data with the relu's gate; depthwise_weights.h has that of the weights. A thread walks down a strip of pixels
// (depthwise_strips.h) and reads each line once: at stride 1 or 2 in both directions, with V > 1 channels a thread;
// other strides and numbers of channels take the simple form, kStride 0.
#pragma once

#include "ridgeline/device/cuda/kernels/depthwise_strips.h"
#include "ridgeline/device/cuda/kernels/depthwise_weights.h"
#include "ridgeline/device/cuda/kernels/direct.h"

namespace ridgeline::cuda {

// Also the gradient with respect to the data at stride 1: a convolution of dy with the taps turned round.
template <class T, int V, int kPixels, int kStride>
struct Depthwise {
  struct Parameters {
    const T *x, *w;
    Bias<T> bias;
    const T* gate;  // null: none
    T* y;
    bool relu, turned;
    PoolShape s;
    Strips strips;  // of y, kPixels wide
  };
  struct Shared {
    TapsShared<V> taps;
    alignas(16) float bias[Strips::kMostLanes * V];
  };
  static constexpr int kThreads = kDepthwiseThreads;
  static constexpr int kBlocksAtOnce = kDepthwiseBlocks<T>;
  static Blocks blocks(const Parameters& p) { return {p.strips.groups() * p.strips.tiles.value}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.s.pixels() * p.s.c);
    list.reads(p.w, kDepthwiseTaps * p.s.c);
    p.bias.pointers(p.s.c, list);
    list.reads(p.gate, p.s.pooled() * p.s.c);
    list.writes(p.y, p.s.pooled() * p.s.c);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    const PoolShape& s = p.s;
    block.each_thread([&](int thread) {
      const u32 tile = p.strips.place(block.x(), 0).tile;
      stage_taps(p.w, p.strips, tile, s.c, p.turned, thread, shared.taps);
      const i32 width = static_cast<i32>(p.strips.lanes.value) * V, channel = static_cast<i32>(tile) * width + thread;
      if (thread < width && channel < s.c) shared.bias[thread] = p.bias.at(channel);
    });
    block.each_thread([&](int thread) {
      const auto place = p.strips.place(block.x(), thread);
      if (place.idle || place.first >= p.strips.strips) return;
      const auto corner = p.strips.corner(place.first);
      float taps[kDepthwiseTaps][V];
      read_taps(shared.taps, place.lane, taps);
      if (p.relu || p.gate != nullptr || p.bias.any())
        compute<true>(p, shared, place, corner, taps);
      else
        compute<false>(p, shared, place, corner, taps);
    });
  }

 private:
  static constexpr int kColumns = kStride * (kPixels - 1) + 3;  // of x that the strip's pixels need

  template <bool kEpilogue>
  static RIDGELINE_DEVICE void compute(const Parameters& p, const Shared& shared, const Strips::Place& place,
                                       const Strips::Corner& corner, const float (&taps)[kDepthwiseTaps][V]) {
    const PoolShape& s = p.s;
    const i32 column = corner.column * kPixels, rows = p.strips.last_row(corner, s.oh) - corner.row;
    LineReader<T> lines(p.x, corner.n, s.h, s.w, s.c, place.vector * V, corner.row * s.sh - s.top,
                        column * s.sw - s.left);
    i64 at = ((static_cast<i64>(corner.n) * s.oh + corner.row) * s.ow + column) * s.c + place.vector * V;
    const auto finish = [&](const float(&sums)[kPixels][V]) {
      write<kEpilogue>(p, shared.bias + place.lane * V, at, s.ow - column, sums);
      at += s.ow * s.c;
    };
    if constexpr (kStride == 1)
      walk(lines, rows, taps, finish);
    else if constexpr (kStride == 2)
      walk_by_two(lines, rows, taps, finish);
    else
      gather(lines, s.sh, rows, taps, finish);
  }

  // to = from + row r of the taps over a line.
  static RIDGELINE_DEVICE void add(int r, const float (&x)[kColumns][V], const float (&taps)[kDepthwiseTaps][V],
                                   const float (&from)[kPixels][V], float (&to)[kPixels][V]) {
    RIDGELINE_UNROLL
    for (int pixel = 0; pixel < kPixels; ++pixel) {
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) {
        float sum = from[pixel][v];
        RIDGELINE_UNROLL
        for (int q = 0; q < 3; ++q) sum = fused(x[kStride * pixel + q][v], taps[3 * r + q][v], sum);
        to[pixel][v] = sum;
      }
    }
  }

  // Each line ends the sums of a row, is the second for the next row and the first for the one after it.
  template <class Finish>
  static RIDGELINE_DEVICE void walk(LineReader<T>& lines, i32 rows, const float (&taps)[kDepthwiseTaps][V],
                                    const Finish& finish) {
    const float zero[kPixels][V] = {};
    float one[kPixels][V] = {}, two[kPixels][V] = {};  // sums of one and two rows of taps
    Raw<T, V> next[kColumns];
    lines.next(true, next);
    RIDGELINE_NO_UNROLL
    for (i32 row = -2; row < rows; ++row) {
      float x[kColumns][V];
      widen_line(next, x);
      lines.next(row + 1 < rows, next);
      if (row >= 0) {
        float sums[kPixels][V];
        add(2, x, taps, two, sums);
        finish(sums);
      }
      add(1, x, taps, one, two);
      add(0, x, taps, zero, one);
    }
  }

  // Each row needs two more lines, and the second of the row above.
  template <class Finish>
  static RIDGELINE_DEVICE void walk_by_two(LineReader<T>& lines, i32 rows, const float (&taps)[kDepthwiseTaps][V],
                                           const Finish& finish) {
    const float zero[kPixels][V] = {};
    float sums[kPixels][V], x[kColumns][V];
    Raw<T, V> middle[kColumns], low[kColumns];
    lines.next(true, low);
    widen_line(low, x);
    add(0, x, taps, zero, sums);
    lines.next(true, middle);
    lines.next(true, low);
    RIDGELINE_NO_UNROLL
    for (i32 row = 0; row < rows; ++row) {
      widen_line(middle, x);
      lines.next(row + 1 < rows, middle);
      add(1, x, taps, sums, sums);
      widen_line(low, x);
      lines.next(row + 1 < rows, low);
      add(2, x, taps, sums, sums);
      finish(sums);
      add(0, x, taps, zero, sums);
    }
  }

  // One pixel at a time.
  template <class Finish>
  static RIDGELINE_DEVICE void gather(const LineReader<T>& lines, i32 stride, i32 rows,
                                      const float (&taps)[kDepthwiseTaps][V], const Finish& finish) {
    static_assert(kStride != 0 || kPixels == 1);
    RIDGELINE_NO_UNROLL
    for (i32 row = 0; row < rows; ++row) {
      float sums[kPixels][V] = {};
      LineReader<T> window = lines.below(row * stride);
      RIDGELINE_UNROLL
      for (int r = 0; r < 3; ++r) {
        Raw<T, V> line[kColumns];
        window.next(true, line);
        float x[kColumns][V];
        widen_line(line, x);
        add(r, x, taps, sums, sums);
      }
      finish(sums);
    }
  }

  // The first `count` pixels of a strip, from y[at].
  template <bool kEpilogue>
  static RIDGELINE_DEVICE void write(const Parameters& p, const float* biases, i64 at, i32 count,
                                     const float (&sums)[kPixels][V]) {
    float bias[V];
    if constexpr (kEpilogue) load(biases, bias);
    const float least = p.relu ? 0.0f : -infinity_f32();
    RIDGELINE_UNROLL
    for (int pixel = 0; pixel < kPixels; ++pixel) {
      if (pixel >= count) return;
      const i64 to = at + static_cast<u32>(pixel * p.s.c);
      float y[V];
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) {
        y[v] = sums[pixel][v];
        if constexpr (!kEpilogue) continue;
        y[v] += bias[v];
        if (y[v] <= least) y[v] = least;  // NaN stays
      }
      if (kEpilogue && p.gate != nullptr) {
        float gate[V];
        load(p.gate + to, gate);
        RIDGELINE_UNROLL
        for (int v = 0; v < V; ++v) y[v] = gate[v] <= 0 ? 0.0f : y[v];
      }
      store(y, p.y + to);
    }
  }
};

// The window that begins at position `at`; -1 if there is none.
RIDGELINE_DEVICE i32 window_of(i32 at, const Divisor& stride, i32 windows) {
  u32 window = static_cast<u32>(at < 0 ? 0 : at);
  const u32 rest = stride.split(window);
  return at < 0 || rest != 0 || static_cast<i32>(window) >= windows ? -1 : static_cast<i32>(window);
}

// Counted from the corner of the first window, pixels 2m and 2m + 1 of an axis are in window m by taps 0 and 1, and the
// first also in window m - 1 by tap 2: a thread computes two rows of 2 * kPixels pixels from each line of dy. At
// kStride 0 it gathers one pixel at any stride.
template <class T, int V, int kPixels, int kStride>
struct DepthwiseDataGradient {
  struct Parameters {
    const T *dy, *w;
    const T* gate;  // null: none
    T* dx;
    PoolShape s;
    Strips strips;  // of windows, kPixels wide; kStride 0: of dx
    Divisor stride_h, stride_w;
  };
  struct Shared {
    TapsShared<V> taps;
  };
  static constexpr int kThreads = kDepthwiseThreads;
  static constexpr int kBlocksAtOnce = kDepthwiseBlocks<T>;
  static Blocks blocks(const Parameters& p) { return {p.strips.groups() * p.strips.tiles.value}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.dy, p.s.pooled() * p.s.c);
    list.reads(p.w, kDepthwiseTaps * p.s.c);
    list.reads(p.gate, p.s.pixels() * p.s.c);
    list.writes(p.dx, p.s.pixels() * p.s.c);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    block.each_thread([&](int thread) {
      stage_taps(p.w, p.strips, p.strips.place(block.x(), 0).tile, p.s.c, false, thread, shared.taps);
    });
    block.each_thread([&](int thread) {
      const auto place = p.strips.place(block.x(), thread);
      if (place.idle || place.first >= p.strips.strips) return;
      const auto corner = p.strips.corner(place.first);
      float taps[kDepthwiseTaps][V];
      read_taps(shared.taps, place.lane, taps);
      const i64 to = static_cast<i64>(corner.n) * p.s.h * p.s.w * p.s.c + place.vector * V;
      if (p.gate != nullptr)
        compute<true>(p, corner, place.vector * V, taps, to);
      else
        compute<false>(p, corner, place.vector * V, taps, to);
    });
  }

 private:
  template <bool kGated>
  static RIDGELINE_DEVICE void compute(const Parameters& p, const Strips::Corner& corner, u32 channel,
                                       const float (&taps)[kDepthwiseTaps][V], i64 to) {
    if constexpr (kStride == 2)
      walk<kGated>(p, corner, channel, taps, to);
    else
      gather<kGated>(p, corner, channel, taps, to);
  }

  template <bool kGated>
  static RIDGELINE_DEVICE void walk(const Parameters& p, const Strips::Corner& corner, u32 channel,
                                    const float (&taps)[kDepthwiseTaps][V], i64 to) {
    constexpr int kColumns = kPixels + 1;  // of dy
    const PoolShape& s = p.s;
    const i32 column = corner.column * kPixels, last = p.strips.last_row(corner, (s.h - 1 + s.top) / 2 + 1);
    LineReader<T> lines(p.dy, corner.n, s.oh, s.ow, s.c, channel, corner.row - 1, column - 1);
    const float zero[2 * kPixels][V] = {};
    float dy[kColumns][V], sums[2 * kPixels][V], below[2 * kPixels][V];
    Raw<T, V> next[kColumns];
    lines.next(true, next);
    widen_line(next, dy);
    add(2, dy, taps, zero, below);
    lines.next(true, next);
    RIDGELINE_NO_UNROLL
    for (i32 row = corner.row; row < last; ++row) {
      widen_line(next, dy);
      lines.next(row + 1 < last, next);
      add(0, dy, taps, below, sums);
      write<kGated>(p, to, 2 * row - s.top, 2 * column - s.left, sums);
      add(1, dy, taps, zero, sums);
      write<kGated>(p, to, 2 * row + 1 - s.top, 2 * column - s.left, sums);
      add(2, dy, taps, zero, below);
    }
  }

  // result = from + row r of the taps.
  template <int kColumns, int kResults>
  static RIDGELINE_DEVICE void add(int r, const float (&dy)[kColumns][V], const float (&taps)[kDepthwiseTaps][V],
                                   const float (&from)[kResults][V], float (&result)[kResults][V]) {
    RIDGELINE_UNROLL
    for (int k = 0; k + 1 < kColumns; ++k) {
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) {
        const float tap_2 = fused(dy[k][v], taps[3 * r + 2][v], from[2 * k][v]);
        result[2 * k][v] = fused(dy[k + 1][v], taps[3 * r][v], tap_2);
        result[2 * k + 1][v] = fused(dy[k + 1][v], taps[3 * r + 1][v], from[2 * k + 1][v]);
      }
    }
  }

  template <bool kGated>
  static RIDGELINE_DEVICE void gather(const Parameters& p, const Strips::Corner& corner, u32 channel,
                                      const float (&taps)[kDepthwiseTaps][V], i64 to) {
    const PoolShape& s = p.s;
    const i32 last = p.strips.last_row(corner, s.h);
    RIDGELINE_NO_UNROLL
    for (i32 row = corner.row; row < last; ++row) {
      float sum[1][V] = {};
      RIDGELINE_UNROLL
      for (int r = 0; r < 3; ++r) {
        const i32 line = window_of(row + s.top - r, p.stride_h, s.oh);
        RIDGELINE_UNROLL
        for (int q = 0; q < 3; ++q) {
          const i32 window = window_of(corner.column + s.left - q, p.stride_w, s.ow);
          Raw<T, V> raw[1];
          LineReader<T>(p.dy, corner.n, s.oh, s.ow, s.c, channel, line, window).next(true, raw);
          float dy[V];
          widen(raw[0], dy);
          RIDGELINE_UNROLL
          for (int v = 0; v < V; ++v) sum[0][v] = fused(dy[v], taps[3 * r + q][v], sum[0][v]);
        }
      }
      write<kGated>(p, to, row, corner.column, sum);
    }
  }

  // Neighbouring pixels of dx, those that exist.
  template <bool kGated, int kCount>
  static RIDGELINE_DEVICE void write(const Parameters& p, i64 image, i32 row, i32 column, float (&sums)[kCount][V]) {
    if (static_cast<u32>(row) >= static_cast<u32>(p.s.h)) return;
    const i64 line = image + (row * p.s.w + column) * p.s.c;
    RIDGELINE_UNROLL
    for (int k = 0; k < kCount; ++k) {
      if (static_cast<u32>(column + k) >= static_cast<u32>(p.s.w)) continue;
      const i64 to = line + static_cast<u32>(k * p.s.c);
      if constexpr (kGated) {
        float gate[V];
        load(p.gate + to, gate);
        RIDGELINE_UNROLL
        for (int v = 0; v < V; ++v) sums[k][v] = gate[v] <= 0 ? 0.0f : sums[k][v];
      }
      store(sums[k], p.dx + to);
    }
  }
};

#define RIDGELINE_DEPTHWISE_KERNELS(K)                                          \
  K(depthwise_f32, Depthwise<float, 4, 2, 1>)                                   \
  K(depthwise_bf16, Depthwise<bfloat16, 4, 2, 1>)                               \
  K(depthwise_f16, Depthwise<float16, 4, 2, 1>)                                 \
  K(depthwise_2_f32, Depthwise<float, 4, 2, 2>)                                 \
  K(depthwise_2_bf16, Depthwise<bfloat16, 4, 2, 2>)                             \
  K(depthwise_2_f16, Depthwise<float16, 4, 2, 2>)                               \
  K(depthwise_any_f32, Depthwise<float, 1, 1, 0>)                               \
  K(depthwise_any_bf16, Depthwise<bfloat16, 1, 1, 0>)                           \
  K(depthwise_any_f16, Depthwise<float16, 1, 1, 0>)                             \
  K(depthwise_data_gradient_2_f32, DepthwiseDataGradient<float, 4, 2, 2>)       \
  K(depthwise_data_gradient_2_bf16, DepthwiseDataGradient<bfloat16, 4, 2, 2>)   \
  K(depthwise_data_gradient_2_f16, DepthwiseDataGradient<float16, 4, 2, 2>)     \
  K(depthwise_data_gradient_any_f32, DepthwiseDataGradient<float, 1, 1, 0>)     \
  K(depthwise_data_gradient_any_bf16, DepthwiseDataGradient<bfloat16, 1, 1, 0>) \
  K(depthwise_data_gradient_any_f16, DepthwiseDataGradient<float16, 1, 1, 0>)   \
  K(depthwise_weight_sums_f32, DepthwiseWeightSums<float, 2, 2, 1>)             \
  K(depthwise_weight_sums_bf16, DepthwiseWeightSums<bfloat16, 2, 4, 1>)         \
  K(depthwise_weight_sums_f16, DepthwiseWeightSums<float16, 2, 4, 1>)           \
  K(depthwise_weight_sums_2_f32, DepthwiseWeightSums<float, 2, 2, 2>)           \
  K(depthwise_weight_sums_2_bf16, DepthwiseWeightSums<bfloat16, 2, 4, 2>)       \
  K(depthwise_weight_sums_2_f16, DepthwiseWeightSums<float16, 2, 4, 2>)         \
  K(depthwise_weight_sums_any_f32, DepthwiseWeightSums<float, 1, 1, 0>)         \
  K(depthwise_weight_sums_any_bf16, DepthwiseWeightSums<bfloat16, 1, 1, 0>)     \
  K(depthwise_weight_sums_any_f16, DepthwiseWeightSums<float16, 1, 1, 0>)       \
  K(depthwise_weight_totals_f32, DepthwiseWeightTotals<float>)                  \
  K(depthwise_weight_totals_bf16, DepthwiseWeightTotals<bfloat16>)              \
  K(depthwise_weight_totals_f16, DepthwiseWeightTotals<float16>)

}  // namespace ridgeline::cuda
