// ridgeline/device/cuda/kernels/first_layer.h
//
// The convolution of a first layer by tensor cores (window_rows.h): an image of few channels, in bf16 or f16, bias and
// relu in place. A warp multiplies the windows of 64 results by a group of 32 or 64 filters. Rows of a tile are results
// and columns are filters. Weights are brought into the order in which lanes take them by a kernel in front.
#pragma once

#include "ridgeline/device/cuda/kernels/direct.h"
#include "ridgeline/device/cuda/kernels/window_rows.h"

namespace ridgeline::cuda {

// Which filter of its group column `column` of tile `tile` is: such that the sums of a lane, columns 2t and 2t + 1 of
// each tile, are those of eight neighbouring filters in four tiles, which one access stores.
RIDGELINE_DEVICE int filter_of(int tile, int column) {
  return tile / 4 * 32 + column / 2 * 8 + tile % 4 * 2 + column % 2;
}

// Weights of all classes and groups as words [class][group][step][N / 2][lane][4], the two words of a lane for two
// tiles each, then the bias of all groups in f32.
template <class T>
struct FirstLayerWeights {
  struct Parameters {
    const T* w;
    Bias<T> bias;
    u32* words;
    float* biases;
    WindowRows s;
    i32 tiles, groups;  // of columns in a group; of filters
  };
  using Shared = Nothing;
  static constexpr int kThreads = 128;
  static i64 words(const Parameters& p) { return i64{p.s.classes} * p.groups * p.s.steps * p.tiles * 2 * kWarp; }
  static Blocks blocks(const Parameters& p) {
    return {static_cast<u32>(divided_up(words(p) + i64{p.groups} * p.tiles * 8, kThreads))};
  }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.w, p.s.weights());
    p.bias.pointers(p.s.k, list);
    list.writes(p.words, words(p));
    list.writes(p.biases, i64{p.groups} * p.tiles * 8);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    const WindowRows& s = p.s;
    block.each_thread([&](int thread) {
      const i32 at = static_cast<i32>(block.x()) * kThreads + thread;
      const i32 all = s.classes * p.groups * s.steps * p.tiles * 2 * kWarp;
      if (at >= all) {
        const i32 k = at - all;
        if (k < p.groups * p.tiles * 8) p.biases[k] = k < s.k ? p.bias.at(k) : 0.0f;
        return;
      }
      const i32 half = at % 2, lane = at / 4 % kWarp;
      i32 rest = at / (4 * kWarp);
      const i32 tile = rest % (p.tiles / 2) * 2 + at / 2 % 2;
      rest /= p.tiles / 2;
      u32 row = static_cast<u32>(rest % s.steps * 8 + lane % 4 + 4 * half);
      const i32 place = static_cast<i32>(s.row_pairs.split(row)) * 2;
      rest /= s.steps;
      const i32 filter = rest % p.groups * p.tiles * 8 + filter_of(tile, lane / 4), which = rest / p.groups;
      const bool inside = filter < s.k && static_cast<i32>(row) < s.r;
      const T* const from = p.w + (static_cast<i64>(inside ? filter : 0) * s.r + (inside ? row : 0)) * s.taps;
      u32 word = 0;
      RIDGELINE_UNROLL
      for (int v = 0; v < 2; ++v) {
        const i32 tap = place + v - s.shift(which);
        if (inside && tap >= 0 && tap < s.taps) word |= static_cast<u32>(load_pack<1>(from + tap).at[0]) << 16 * v;
      }
      p.words[at] = word;
    });
  }
};

// N: tiles of eight filters.
template <class T, int N>
struct FirstLayer {
  static constexpr int kThreads = 128, kWarps = kThreads / kWarp;
  static constexpr int M = 4, kResults = 16 * M;  // of a warp at once
  struct Parameters {
    const T* x;
    const Quad* words;
    const float* biases;
    T* y;
    bool relu;
    WindowRows s;
    i32 groups;
  };
  struct Shared {
    Quad rows[kWindowQuads];
    PairTable pairs;
  };
  static Blocks blocks(const Parameters& p) {
    return {static_cast<u32>(p.s.n * p.s.tiles), static_cast<u32>(p.groups)};
  }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.s.image());
    list.reads(p.words, i64{p.s.classes} * p.groups * p.s.steps * (N / 2) * kWarp);
    list.reads(p.biases, i64{p.groups} * N * 8);
    list.writes(p.y, p.s.result());
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    const WindowRows& s = p.s;
    u32 image = block.x();
    const i32 first = static_cast<i32>(s.image_tiles.split(image)) * s.tile_rows;
    const i32 rows = first + s.tile_rows <= s.oh ? s.tile_rows : s.oh - first;
    block.each_thread([&](int thread) {
      copy_rows<kThreads>(s, p.x, static_cast<i32>(image), first, rows, thread, shared.rows);
      fill_pairs<kThreads>(s, s.steps * 8, thread, shared.pairs);
      finish_copies();
    });
    const i32 even = static_cast<i32>(divided_up(rows * s.columns_of(0), kResults));
    const i32 all = even + (s.classes == 2 ? static_cast<i32>(divided_up(rows * s.columns_of(1), kResults)) : 0);
    T* const result = p.y + (static_cast<i64>(image) * s.oh + first) * s.ow * s.k;
    block.each_thread([&](int thread) {
      RIDGELINE_NO_UNROLL
      for (i32 unit = thread / kWarp; unit < all; unit += kWarps) {
        const i32 which = unit >= even ? 1 : 0;
        multiply(p, shared, which, (unit - which * even) * kResults, rows, static_cast<i32>(block.y()), thread % kWarp,
                 result);
      }
    });
  }

 private:
  // The results from `begin` on of a class.
  static RIDGELINE_DEVICE void multiply(const Parameters& p, const Shared& shared, i32 which, i32 begin, i32 rows,
                                        i32 group, int lane, T* result) {
    const WindowRows& s = p.s;
    const i32 count = rows * s.columns_of(which);
    const int g = lane / 4, t = lane % 4;
    i32 window[M][2];
    RIDGELINE_UNROLL
    for (int m = 0; m < M; ++m) {
      RIDGELINE_UNROLL
      for (int half = 0; half < 2; ++half) {
        const i32 at = begin + m * 16 + half * 8 + g;
        window[m][half] = window_bytes(s, window_place(s, which, at < count ? at : 0));
      }
    }
    float sums[M][N][4];
    RIDGELINE_UNROLL
    for (int q = 0; q < N / 4; ++q) {
      float bias[8];
      load(p.biases + group * N * 8 + q * 32 + t * 8, bias);
      RIDGELINE_UNROLL
      for (int n = 0; n < 4; ++n) {
        RIDGELINE_UNROLL
        for (int m = 0; m < M; ++m) {
          RIDGELINE_UNROLL
          for (int i = 0; i < 4; ++i) sums[m][q * 4 + n][i] = bias[n * 2 + i % 2];
        }
      }
    }
    const Quad* const words = p.words + static_cast<i64>(which * p.groups + group) * s.steps * (N / 2) * kWarp;
    add_products<std::is_same_v<T, float16>>(
        lane, s.steps,
        [&](int step, int of, u32(&a)[M][4]) {
          struct alignas(8) Two {
            i32 at[2];
          };
          const Two pairs = *reinterpret_cast<const Two*>(shared.pairs.bytes + step * 8 + of % 4 * 2);
          RIDGELINE_UNROLL
          for (int m = 0; m < M; ++m) {
            RIDGELINE_UNROLL
            for (int i = 0; i < 4; ++i) a[m][i] = word_at(shared.rows, window[m][i % 2] + pairs.at[i / 2]);
          }
        },
        [&](int step, int of, u32(&b)[N][2]) {
          RIDGELINE_UNROLL
          for (int q = 0; q < N / 2; ++q) {
            const Quad quad = words[(step * (N / 2) + q) * kWarp + of];
            RIDGELINE_UNROLL
            for (int i = 0; i < 4; ++i) b[q * 2 + i / 2][i % 2] = quad.at[i];
          }
        },
        sums);
    RIDGELINE_UNROLL
    for (int m = 0; m < M; ++m) {
      RIDGELINE_UNROLL
      for (int half = 0; half < 2; ++half) {
        const i32 at = begin + m * 16 + half * 8 + g;
        if (at >= count) continue;
        const WindowPlace place = window_place(s, which, at);
        T* const to = result + (static_cast<i64>(place.row) * s.ow + place.column) * s.k;
        RIDGELINE_UNROLL
        for (int q = 0; q < N / 4; ++q) {
          const i32 k = group * N * 8 + q * 32 + t * 8;
          if (k >= s.k) continue;
          float values[8];
          RIDGELINE_UNROLL
          for (int v = 0; v < 8; ++v) {
            const float sum = sums[m][q * 4 + v / 2][half * 2 + v % 2];
            values[v] = p.relu ? larger(sum, 0.0f) : sum;
          }
          store(values, to + k);
        }
      }
    }
  }
};

#define RIDGELINE_FIRST_LAYER_KERNELS(K)                   \
  K(first_layer_weights_bf16, FirstLayerWeights<bfloat16>) \
  K(first_layer_weights_f16, FirstLayerWeights<float16>)   \
  K(first_layer_bf16, FirstLayer<bfloat16, 8>)             \
  K(first_layer_f16, FirstLayer<float16, 8>)               \
  K(first_layer_bf16_32, FirstLayer<bfloat16, 4>)          \
  K(first_layer_f16_32, FirstLayer<float16, 4>)

}  // namespace ridgeline::cuda
