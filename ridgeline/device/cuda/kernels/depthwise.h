// ridgeline/device/cuda/kernels/depthwise.h
//
// Depthwise 3x3 convolutions over NHWC, any stride and padding: forward with bias and relu, gradient with respect to
// the data with the relu's gate, gradient with respect to the weights. A thread has four channels, whose weights stay
// in registers, and four neighbouring pixels. w is [C,3,3,1]. The weights' gradient is summed in f32 over a thread's
// pixels, then like all sums over rows (rows_of_channels.h).
#pragma once

#include "ridgeline/device/cuda/kernels/direct.h"
#include "ridgeline/device/cuda/kernels/pool.h"
#include "ridgeline/device/cuda/kernels/rows_of_channels.h"

namespace ridgeline::cuda {

inline constexpr int kDepthwiseTaps = 9;
inline constexpr int kDepthwisePixels = 4;  // of a thread

template <class T, int V>
RIDGELINE_DEVICE void load_taps(const T* w, i64 channel, float (&taps)[kDepthwiseTaps][V]) {
  RIDGELINE_UNROLL
  for (int v = 0; v < V; ++v) {
    RIDGELINE_UNROLL
    for (int tap = 0; tap < kDepthwiseTaps; ++tap) taps[tap][v] = load_one(w + (channel + v) * kDepthwiseTaps + tap);
  }
}

template <class T, int V>
struct Depthwise {
  struct Parameters {
    const T *x, *w;
    Bias<T> bias;
    T* y;
    bool relu;
    PoolShape s;
    PixelThreads threads;  // over [n, oh, ow/4, c]
  };
  using Shared = Nothing;
  static constexpr int kThreads = 128;
  static Blocks blocks(const Parameters& p) { return p.threads.blocks(kThreads); }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.s.pixels() * p.s.c);
    list.reads(p.w, kDepthwiseTaps * p.s.c);
    p.bias.pointers(p.s.c, list);
    list.writes(p.y, p.s.pooled() * p.s.c);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    block.each_thread([&](int thread) {
      const i64 at = static_cast<i64>(block.x()) * kThreads + thread;
      if (at >= p.threads.vectors) return;
      const auto place = p.threads.place(at);
      const PoolShape& s = p.s;
      const i64 channel = static_cast<i64>(place.vector) * V;
      float taps[kDepthwiseTaps][V];
      load_taps(p.w, channel, taps);
      const i32 row = static_cast<i32>(place.row) * s.sh - s.top;
      const i32 first = static_cast<i32>(place.column) * kDepthwisePixels;
      const T* const image = p.x + static_cast<i64>(place.n) * s.h * s.w * s.c + channel;
      float sums[kDepthwisePixels][V];
      RIDGELINE_UNROLL
      for (int pixel = 0; pixel < kDepthwisePixels; ++pixel) {
        RIDGELINE_UNROLL
        for (int v = 0; v < V; ++v) sums[pixel][v] = 0;
      }
      if (s.sw == 1)
        add<1>(s, image, row, first - s.left, taps, sums);
      else if (s.sw == 2)
        add<2>(s, image, row, first * 2 - s.left, taps, sums);
      else
        add<0>(s, image, row, first * s.sw - s.left, taps, sums);
      RIDGELINE_UNROLL
      for (int pixel = 0; pixel < kDepthwisePixels; ++pixel) {
        if (first + pixel >= s.ow) return;
        RIDGELINE_UNROLL
        for (int v = 0; v < V; ++v) {
          sums[pixel][v] += p.bias.at(channel + v);
          if (p.relu) sums[pixel][v] = larger(sums[pixel][v], 0.0f);
        }
        store(sums[pixel],
              p.y + ((static_cast<i64>(place.n) * s.oh + place.row) * s.ow + first + pixel) * s.c + channel);
      }
    });
  }

 private:
  // The sums of all pixels over the taps; with a known stride each element of x is read once for all of them.
  template <int kStride>
  static RIDGELINE_DEVICE void add(const PoolShape& s, const T* image, i32 row, i32 column,
                                   const float (&taps)[kDepthwiseTaps][V], float (&sums)[kDepthwisePixels][V]) {
    RIDGELINE_UNROLL
    for (int r = 0; r < 3; ++r) {
      const i32 i = row + r;
      if (i < 0 || i >= s.h) continue;
      const T* const line = image + static_cast<i64>(i) * s.w * s.c;
      if constexpr (kStride > 0) {
        RIDGELINE_UNROLL
        for (int k = 0; k < kStride * (kDepthwisePixels - 1) + 3; ++k) {
          const i32 j = column + k;
          if (j < 0 || j >= s.w) continue;
          float x[V];
          load(line + static_cast<i64>(j) * s.c, x);
          RIDGELINE_UNROLL
          for (int pixel = 0; pixel < kDepthwisePixels; ++pixel) {
            const int q = k - pixel * kStride;
            if (q < 0 || q > 2) continue;
            RIDGELINE_UNROLL
            for (int v = 0; v < V; ++v) sums[pixel][v] = fused(x[v], taps[r * 3 + q][v], sums[pixel][v]);
          }
        }
      } else {
        RIDGELINE_UNROLL
        for (int pixel = 0; pixel < kDepthwisePixels; ++pixel) {
          RIDGELINE_UNROLL
          for (int q = 0; q < 3; ++q) {
            const i32 j = column + pixel * s.sw + q;
            if (j < 0 || j >= s.w) continue;
            float x[V];
            load(line + static_cast<i64>(j) * s.c, x);
            RIDGELINE_UNROLL
            for (int v = 0; v < V; ++v) sums[pixel][v] = fused(x[v], taps[r * 3 + q][v], sums[pixel][v]);
          }
        }
      }
    }
  }
};

// The window that begins at position `at`; -1 if there is none.
RIDGELINE_DEVICE i32 window_of(i32 at, const Divisor& stride, i32 windows) {
  u32 window = static_cast<u32>(at < 0 ? 0 : at);
  const u32 rest = stride.split(window);
  return at < 0 || rest != 0 || static_cast<i32>(window) >= windows ? -1 : static_cast<i32>(window);
}

template <class T, int V>
struct DepthwiseDataGradient {
  struct Parameters {
    const T *dy, *w;
    const T* gate;  // null: none
    T* dx;
    PoolShape s;
    PixelThreads threads;  // over [n, h, w/4, c]
    Divisor stride_h, stride_w;
  };
  using Shared = Nothing;
  static constexpr int kThreads = 128;
  static Blocks blocks(const Parameters& p) { return p.threads.blocks(kThreads); }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.dy, p.s.pooled() * p.s.c);
    list.reads(p.w, kDepthwiseTaps * p.s.c);
    list.reads(p.gate, p.s.pixels() * p.s.c);
    list.writes(p.dx, p.s.pixels() * p.s.c);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    block.each_thread([&](int thread) {
      const i64 at = static_cast<i64>(block.x()) * kThreads + thread;
      if (at >= p.threads.vectors) return;
      const auto place = p.threads.place(at);
      const PoolShape& s = p.s;
      const i64 channel = static_cast<i64>(place.vector) * V;
      float taps[kDepthwiseTaps][V];
      load_taps(p.w, channel, taps);
      const T* const image = p.dy + static_cast<i64>(place.n) * s.oh * s.ow * s.c + channel;
      i32 lines[3];  // of dy that a row of taps reads; -1: none
      RIDGELINE_UNROLL
      for (int r = 0; r < 3; ++r) lines[r] = window_of(static_cast<i32>(place.row) + s.top - r, p.stride_h, s.oh);
      RIDGELINE_NO_UNROLL  // else the tests of all pixels are alive at once, in too many registers
          for (int pixel = 0; pixel < kDepthwisePixels; ++pixel) {
        const i32 column = static_cast<i32>(place.column) * kDepthwisePixels + pixel;
        if (column >= s.w) return;
        float sum[V];
        RIDGELINE_UNROLL
        for (int v = 0; v < V; ++v) sum[v] = 0;
        RIDGELINE_UNROLL
        for (int q = 0; q < 3; ++q) {
          const i32 ow = window_of(column + s.left - q, p.stride_w, s.ow);
          if (ow < 0) continue;
          RIDGELINE_UNROLL
          for (int r = 0; r < 3; ++r) {
            if (lines[r] < 0) continue;
            float dy[V];
            load(image + (lines[r] * s.ow + ow) * s.c, dy);
            RIDGELINE_UNROLL
            for (int v = 0; v < V; ++v) sum[v] = fused(dy[v], taps[r * 3 + q][v], sum[v]);
          }
        }
        const i64 to = ((static_cast<i64>(place.n) * s.h + place.row) * s.w + column) * s.c + channel;
        if (p.gate != nullptr) {
          float gate[V];
          load(p.gate + to, gate);
          RIDGELINE_UNROLL
          for (int v = 0; v < V; ++v) sum[v] = gate[v] <= 0 ? 0.0f : sum[v];
        }
        store(sum, p.dx + to);
      }
    });
  }
};

// partial[chunk][tap][channel] over the pixels of dy, taken as rows.
template <class T, int V>
struct DepthwiseWeightSums {
  struct Parameters {
    const T *x, *dy;
    float* partial;
    PoolShape s;
    Divisor columns, rows;  // of the result
    RowTiles tiles;
  };
  using Shared = RowSumsShared<kDepthwiseTaps, V>;
  static constexpr int kThreads = kRowThreads;
  static Blocks blocks(const Parameters& p) { return {p.tiles.tiles, p.tiles.chunks}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.s.pixels() * p.s.c);
    list.reads(p.dy, p.s.pooled() * p.s.c);
    list.writes(p.partial, kDepthwiseTaps * p.tiles.partial_sums());
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    struct Registers {
      float sums[kDepthwiseTaps][V];
    };
    const RowTiles& t = p.tiles;
    const PoolShape& s = p.s;
    typename Block::template PerThread<Registers> registers;
    block.each_thread([&](int thread) {
      const ThreadRows rows = t.in_chunk(block.x(), block.y(), thread);
      const i64 channel = rows.channel;
      Registers& sums = registers[thread];
      RIDGELINE_UNROLL
      for (int tap = 0; tap < kDepthwiseTaps; ++tap) {
        RIDGELINE_UNROLL
        for (int v = 0; v < V; ++v) sums.sums[tap][v] = 0;
      }
      i64 pixel = rows.row;
      for (u32 left = rows.count; left > 0; --left, pixel += rows.step) {
        u32 rest = static_cast<u32>(pixel);
        const i32 column = static_cast<i32>(p.columns.split(rest)) * s.sw - s.left;
        const i32 row = static_cast<i32>(p.rows.split(rest)) * s.sh - s.top;
        const T* const image = p.x + static_cast<i64>(rest) * s.h * s.w * s.c + channel;
        float dy[V];
        load(p.dy + pixel * s.c + channel, dy);
        RIDGELINE_UNROLL
        for (int r = 0; r < 3; ++r) {
          RIDGELINE_UNROLL
          for (int q = 0; q < 3; ++q) {
            const i32 i = row + r, j = column + q;
            if (i < 0 || i >= s.h || j < 0 || j >= s.w) continue;
            float x[V];
            load(image + (static_cast<i64>(i) * s.w + j) * s.c, x);
            RIDGELINE_UNROLL
            for (int v = 0; v < V; ++v) sums.sums[r * 3 + q][v] = fused(x[v], dy[v], sums.sums[r * 3 + q][v]);
          }
        }
      }
    });
    write_row_sums<kDepthwiseTaps, V>(block, t, block.x(), block.y(), registers, shared, p.partial);
  }
};

template <class To>
struct DepthwiseWeightTotals {
  struct Parameters {
    const float* partial;
    u32 chunks;
    i64 channels;
    To* dw;
  };
  using Shared = ChunkSumsShared<kDepthwiseTaps>;
  static constexpr int kThreads = kSumThreads;
  static Blocks blocks(const Parameters& p) { return {sum_chunks_blocks(p.channels)}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.partial, kDepthwiseTaps * p.chunks * p.channels);
    list.writes(p.dw, kDepthwiseTaps * p.channels);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    sum_chunks<kDepthwiseTaps>(block, p.partial, p.chunks, p.channels, shared,
                               [&](i64 c, const double(&sums)[kDepthwiseTaps]) {
                                 RIDGELINE_UNROLL
                                 for (int tap = 0; tap < kDepthwiseTaps; ++tap)
                                   store_one(static_cast<float>(sums[tap]), p.dw + c * kDepthwiseTaps + tap);
                               });
  }
};

#define RIDGELINE_DEPTHWISE_KERNELS(K)                                  \
  K(depthwise_f32, Depthwise<float, 4>)                                 \
  K(depthwise_bf16, Depthwise<bfloat16, 4>)                             \
  K(depthwise_f16, Depthwise<float16, 4>)                               \
  K(depthwise_f32_1, Depthwise<float, 1>)                               \
  K(depthwise_bf16_1, Depthwise<bfloat16, 1>)                           \
  K(depthwise_f16_1, Depthwise<float16, 1>)                             \
  K(depthwise_data_gradient_f32, DepthwiseDataGradient<float, 4>)       \
  K(depthwise_data_gradient_bf16, DepthwiseDataGradient<bfloat16, 4>)   \
  K(depthwise_data_gradient_f16, DepthwiseDataGradient<float16, 4>)     \
  K(depthwise_data_gradient_f32_1, DepthwiseDataGradient<float, 1>)     \
  K(depthwise_data_gradient_bf16_1, DepthwiseDataGradient<bfloat16, 1>) \
  K(depthwise_data_gradient_f16_1, DepthwiseDataGradient<float16, 1>)   \
  K(depthwise_weight_sums_f32, DepthwiseWeightSums<float, 4>)           \
  K(depthwise_weight_sums_bf16, DepthwiseWeightSums<bfloat16, 4>)       \
  K(depthwise_weight_sums_f16, DepthwiseWeightSums<float16, 4>)         \
  K(depthwise_weight_sums_f32_1, DepthwiseWeightSums<float, 1>)         \
  K(depthwise_weight_sums_bf16_1, DepthwiseWeightSums<bfloat16, 1>)     \
  K(depthwise_weight_sums_f16_1, DepthwiseWeightSums<float16, 1>)       \
  K(depthwise_weight_totals_f32, DepthwiseWeightTotals<float>)          \
  K(depthwise_weight_totals_bf16, DepthwiseWeightTotals<bfloat16>)      \
  K(depthwise_weight_totals_f16, DepthwiseWeightTotals<float16>)

}  // namespace ridgeline::cuda
