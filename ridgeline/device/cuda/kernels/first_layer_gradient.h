// ridgeline/device/cuda/kernels/first_layer_gradient.h
//
// The gradient with respect to a first layer's weights by tensor cores (window_rows.h). Rows of a tile are filters,
// columns are places of a window, and the sums go over results. The sums of a warp, for 64 filters and some pairs of
// the window, stay in registers over all tiles of its block; each warp writes them once, and a second kernel adds them
// in double in the order of their blocks.
#pragma once

#include "ridgeline/device/cuda/kernels/window_rows.h"

namespace ridgeline::cuda {

inline constexpr int kGradientFilters = 64;   // of a warp
inline constexpr int kGradientPixels = 1024;  // of a block's tile, whole steps of each class

// How the work is divided. A job is a class of windows and a group of pairs; blocks (x, y) have every grid-th tile and
// some jobs for one group of filters; `parts` warps of a block share a job's results.
struct GradientWork {
  i32 tiles = 0, grid = 0;  // of all images; blocks along x
  i32 pair_groups = 1, jobs = 1, block_jobs = 1, parts = 1, filter_groups = 1;
  i32 columns = 0;  // of the sums: two for each pair

  RIDGELINE_DEVICE i32 job_blocks() const { return (jobs + block_jobs - 1) / block_jobs; }
  i64 chunks() const { return i64{grid} * parts; }
  // [chunk][class][filter][columns]
  i64 chunk_sums(const WindowRows& s) const { return i64{s.classes} * filter_groups * kGradientFilters * columns; }
};

// N: tiles of eight columns of a warp.
template <class T, int N, int kWarps>
struct FirstLayerGradientSums {
  static constexpr int kThreads = kWarps * kWarp;
  static constexpr int M = kGradientFilters / 16, kPairs = 4 * N;  // of a warp
  struct Parameters {
    const T *x, *dy;
    float* partial;
    WindowRows s;
    GradientWork work;
    bool spread;  // a lane has results 2t, 2t + 1, 2t + 8 and 2t + 9 of a step; else 4t to 4t + 3
  };
  struct Shared {
    Quad rows[kWindowQuads - kGradientPixels / 4];
    u32 places[kGradientPixels];  // of results: in the tile, above; their windows in words, below
    PairTable pairs;
  };
  static Blocks blocks(const Parameters& p) {
    return {static_cast<u32>(p.work.grid), static_cast<u32>(p.work.filter_groups * p.work.job_blocks())};
  }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.s.image());
    list.reads(p.dy, p.s.result());
    list.writes(p.partial, p.work.chunks() * p.work.chunk_sums(p.s));
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    const WindowRows& s = p.s;
    const GradientWork& work = p.work;
    const i32 filter = static_cast<i32>(block.y()) / work.job_blocks() * kGradientFilters;
    const i32 first_job = static_cast<i32>(block.y()) % work.job_blocks() * work.block_jobs;
    struct Sums {
      float at[M][N][4];
    };
    typename Block::template PerThread<Sums> sums;
    block.each_thread([&](int thread) {
      fill_pairs<kThreads>(s, work.pair_groups * kPairs, thread, shared.pairs);
      fill_places(p, thread, shared.places);
      RIDGELINE_UNROLL
      for (int m = 0; m < M; ++m) {
        RIDGELINE_UNROLL
        for (int n = 0; n < N; ++n) {
          RIDGELINE_UNROLL
          for (int i = 0; i < 4; ++i) sums[thread].at[m][n][i] = 0;
        }
      }
    });
    for (i32 tile = static_cast<i32>(block.x()); tile < work.tiles; tile += work.grid) {
      const TileRows rows = tile_rows(s, tile);
      block.each_thread([&](int thread) {
        copy_rows<kThreads>(s, p.x, rows.image, rows.first, rows.count, thread, shared.rows);
        if (tile + work.grid < work.tiles) fetch(p, tile_rows(s, tile + work.grid), thread);
        finish_copies();
      });
      block.each_thread([&](int thread) {
        const i32 job = first_job + thread / kWarp / work.parts;
        if (thread / kWarp >= work.block_jobs * work.parts || job >= work.jobs) return;
        multiply(p, shared, rows, job, filter, thread, sums[thread].at);
      });
    }
    block.each_thread([&](int thread) {
      const i32 job = first_job + thread / kWarp / work.parts;
      if (thread / kWarp >= work.block_jobs * work.parts || job >= work.jobs) return;
      const i32 part = thread / kWarp % work.parts;
      const i64 chunk = static_cast<i64>(block.x()) * work.parts + part;
      const int g = thread % kWarp / 4, t = thread % 4;
      float* const to =
          p.partial +
          ((chunk * s.classes + job / work.pair_groups) * work.filter_groups * kGradientFilters + filter + 8 * g) *
              work.columns +
          job % work.pair_groups * kPairs * 2 + t * 4;
      RIDGELINE_UNROLL
      for (int m = 0; m < M; ++m) {
        RIDGELINE_UNROLL
        for (int half = 0; half < 2; ++half) {
          RIDGELINE_UNROLL
          for (int n = 0; n < N; n += 2) {
            const auto& even = sums[thread].at[m][n];
            const auto& odd = sums[thread].at[m][n + 1];
            const float four[4] = {even[half * 2], odd[half * 2], even[half * 2 + 1], odd[half * 2 + 1]};
            store(four, to + (2 * m + half) * work.columns + n * 8);
          }
        }
      }
    });
  }

 private:
  struct TileRows {
    i32 image, first, count;
  };
  static RIDGELINE_DEVICE TileRows tile_rows(const WindowRows& s, i32 tile) {
    u32 image = static_cast<u32>(tile);
    const i32 first = static_cast<i32>(s.image_tiles.split(image)) * s.tile_rows;
    return {static_cast<i32>(image), first, first + s.tile_rows <= s.oh ? s.tile_rows : s.oh - first};
  }
  static RIDGELINE_DEVICE i32 steps_of(const WindowRows& s, i32 which, i32 rows) {
    return (rows * s.columns_of(which) + kTileDepth - 1) / kTileDepth;
  }

  // The places of the results of each step, in the order in which lanes take them.
  static RIDGELINE_DEVICE void fill_places(const Parameters& p, int thread, u32* places) {
    const WindowRows& s = p.s;
    const i32 even = steps_of(s, 0, s.tile_rows);
    const i32 all = even + (s.classes == 2 ? steps_of(s, 1, s.tile_rows) : 0);
    for (i32 i = thread; i < all * kTileDepth; i += kThreads) {
      const i32 which = i >= even * kTileDepth ? 1 : 0, place = i - which * even * kTileDepth;
      const i32 t = place % kTileDepth / 4, v = place % 4;
      const i32 at = place / kTileDepth * kTileDepth + (p.spread ? 2 * t + v % 2 + v / 2 * 8 : 4 * t + v);
      u32 word = 0xffff0000u;
      if (at < s.tile_rows * s.columns_of(which)) {
        const WindowPlace result = window_place(s, which, at);
        word = static_cast<u32>(result.row * s.ow + result.column) << 16 |
               static_cast<u32>(window_bytes(s, result)) / sizeof(u32);
      }
      places[i] = word;
    }
  }

  // Asks for the next tile's memory.
  static RIDGELINE_DEVICE void fetch(const Parameters& p, const TileRows& rows, int thread) {
    const WindowRows& s = p.s;
    constexpr i32 kLine = 64;  // elements of 128 bytes
    const i32 begin = larger(rows.first * s.stride - s.top, 0);
    const i32 end = smaller(rows.first * s.stride - s.top + s.rows_under(rows.count), s.h);
    const T* const x = p.x + (static_cast<i64>(rows.image) * s.h + begin) * s.width;
    for (i32 i = thread * kLine; i < (end - begin) * s.width; i += kThreads * kLine) fetch_line(x + i);
    const T* const dy = p.dy + (static_cast<i64>(rows.image) * s.oh + rows.first) * s.ow * s.k;
    for (i32 i = thread * kLine; i < rows.count * s.ow * s.k; i += kThreads * kLine) fetch_line(dy + i);
  }

  static RIDGELINE_DEVICE void multiply(const Parameters& p, const Shared& shared, const TileRows& rows, i32 job,
                                        i32 filter, int thread, float (&sums)[M][N][4]) {
    const WindowRows& s = p.s;
    const i32 which = job / p.work.pair_groups, pair = job % p.work.pair_groups * kPairs;
    const i32 parts = p.work.parts, part = thread / kWarp % parts;
    const i32 steps = (steps_of(s, which, rows.count) - part + parts - 1) / parts;
    if (steps <= 0) return;
    const u32* const places = shared.places + ((which == 0 ? 0 : steps_of(s, 0, s.tile_rows)) + part) * kTileDepth;
    const T* const dy = p.dy + (static_cast<i64>(rows.image) * s.oh + rows.first) * s.ow * s.k + filter;
    const u32 limit = static_cast<u32>(rows.count * s.ow);
    const auto four = [&](int step, int of) {
      return *reinterpret_cast<const Quad*>(places + step * parts * kTileDepth + of % 4 * 4);
    };
    add_products<std::is_same_v<T, float16>>(
        thread % kWarp, steps,
        [&](int step, int of, u32(&a)[M][4]) {
          const Quad at = four(step, of);
          Quad values[4];
          RIDGELINE_UNROLL
          for (int v = 0; v < 4; ++v) {
            const u32 place = at.at[v] >> 16;
            values[v] = Quad{};
            if (place < limit && filter + of / 4 * 8 < s.k)
              values[v] =
                  *reinterpret_cast<const Quad*>(dy + (place * static_cast<u32>(s.k) + static_cast<u32>(of / 4 * 8)));
          }
          RIDGELINE_UNROLL
          for (int m = 0; m < M; ++m) {
            RIDGELINE_UNROLL
            for (int i = 0; i < 4; i += 2) {
              a[m][i] = low_halves(values[i].at[m], values[i + 1].at[m]);
              a[m][i + 1] = high_halves(values[i].at[m], values[i + 1].at[m]);
            }
          }
        },
        [&](int step, int of, u32(&b)[N][2]) {
          const Quad at = four(step, of);
          RIDGELINE_UNROLL
          for (int n = 0; n < N; n += 2) {
            const i32 bytes = shared.pairs.bytes[pair_place(pair + n * 4 + of / 4)];
            u32 words[4];
            RIDGELINE_UNROLL
            for (int v = 0; v < 4; ++v)
              words[v] = word_at(shared.rows, static_cast<i32>((at.at[v] & 0xffffu) * sizeof(u32)) + bytes);
            RIDGELINE_UNROLL
            for (int i = 0; i < 2; ++i) {
              b[n][i] = low_halves(words[2 * i], words[2 * i + 1]);
              b[n + 1][i] = high_halves(words[2 * i], words[2 * i + 1]);
            }
          }
        },
        sums);
  }
};

// dw [k, r, taps]: for each element the sums of all chunks and classes, 32 threads each.
template <class To>
struct FirstLayerGradientTotals {
  static constexpr int kThreads = 256, kElements = 8, kLanes = kThreads / kElements;
  struct Parameters {
    const float* partial;
    To* dw;
    WindowRows s;
    GradientWork work;
    Divisor taps, rows;
  };
  struct Shared {
    double sums[kThreads];
  };
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(divided_up(p.s.weights(), kElements))}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.partial, p.work.chunks() * p.work.chunk_sums(p.s));
    list.writes(p.dw, p.s.weights());
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    const WindowRows& s = p.s;
    const i32 all = s.k * s.r * s.taps;
    const i64 filters = i64{p.work.filter_groups} * kGradientFilters;
    block.each_thread([&](int thread) {
      const i32 at = static_cast<i32>(block.x()) * kElements + thread % kElements;
      double sum = 0;
      if (at < all) {
        u32 filter = static_cast<u32>(at);
        const u32 tap = p.taps.split(filter), row = p.rows.split(filter);
        const i32 chunks = p.work.grid * p.work.parts;
        for (i32 which = 0; which < s.classes; ++which) {
          const float* const from = p.partial + (static_cast<i64>(which) * filters + filter) * p.work.columns +
                                    2 * row * static_cast<u32>(s.pairs) + tap + static_cast<u32>(s.shift(which));
          const i64 step = s.classes * filters * p.work.columns;
          for (i32 chunk = thread / kElements; chunk < chunks; chunk += kLanes)
            sum += static_cast<double>(from[chunk * step]);
        }
      }
      shared.sums[thread] = sum;
    });
    tree<kThreads>(block, kLanes, kElements, [&](int i, int j) { shared.sums[i] += shared.sums[j]; });
    block.each_thread([&](int thread) {
      const i32 at = static_cast<i32>(block.x()) * kElements + thread;
      if (thread < kElements && at < all) store_one(static_cast<float>(shared.sums[thread]), p.dw + at);
    });
  }
};

#define RIDGELINE_FIRST_LAYER_GRADIENT_KERNELS(K)                         \
  K(first_layer_gradient_bf16, FirstLayerGradientSums<bfloat16, 6, 8>)    \
  K(first_layer_gradient_f16, FirstLayerGradientSums<float16, 6, 8>)      \
  K(first_layer_gradient_bf16_96, FirstLayerGradientSums<bfloat16, 6, 4>) \
  K(first_layer_gradient_f16_96, FirstLayerGradientSums<float16, 6, 4>)   \
  K(first_layer_gradient_bf16_16, FirstLayerGradientSums<bfloat16, 4, 4>) \
  K(first_layer_gradient_f16_16, FirstLayerGradientSums<float16, 4, 4>)   \
  K(first_layer_gradient_totals_f32, FirstLayerGradientTotals<float>)     \
  K(first_layer_gradient_totals_bf16, FirstLayerGradientTotals<bfloat16>) \
  K(first_layer_gradient_totals_f16, FirstLayerGradientTotals<float16>)

}  // namespace ridgeline::cuda
