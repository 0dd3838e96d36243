// ridgeline/device/cuda/kernels/column_sums.h
//
// y[c] = sum over rows of x[row][c]: bias gradients, and sums over leading axes. Sums within chunks of rows in f32,
// over chunks in double.
#pragma once

#include "ridgeline/device/cuda/kernels/rows_of_channels.h"

namespace ridgeline::cuda {

template <class T, int V>
struct ColumnSums {
  struct Parameters {
    const T* x;
    float* partial;  // [chunks][channels]
    RowTiles tiles;
  };
  using Shared = RowSumsShared<1, V>;
  static constexpr int kThreads = kRowThreads;
  static constexpr int kBlocksAtOnce = kBlocksOfOneWave;
  static Blocks blocks(const Parameters& p) { return {p.tiles.tiles, p.tiles.chunks}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.tiles.elements());
    list.writes(p.partial, p.tiles.partial_sums());
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    struct Registers {
      float sums[1][V];
    };
    const RowTiles& t = p.tiles;
    typename Block::template PerThread<Registers> registers;
    block.each_thread([&](int thread) {
      const ThreadRows rows = t.spread(block.x(), block.y(), thread);
      Registers& r = registers[thread];
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) r.sums[0][v] = 0;
      over_rows<8>(
          t, rows, [&](u32, u32 at) { return load_pack<V>(p.x + at); },
          [&](u32, u32, const Pack<T, V>& pack) {
            float x[V];
            widen(pack, x);
            RIDGELINE_UNROLL
            for (int v = 0; v < V; ++v) r.sums[0][v] += x[v];
          });
    });
    write_row_sums<1, V>(block, t, block.x(), block.y(), registers, shared, p.partial);
  }
};

template <class T>
struct ColumnTotals {
  struct Parameters {
    const float* partial;
    u32 chunks;
    i64 channels;
    double factor;
    T* y;
  };
  using Shared = ChunkSumsShared<1>;
  static constexpr int kThreads = kSumThreads;
  static Blocks blocks(const Parameters& p) { return {sum_chunks_blocks(p.channels)}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.partial, p.chunks * p.channels);
    list.writes(p.y, p.channels);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    sum_chunks<1>(block, p.partial, p.chunks, p.channels, shared,
                  [&](i64 c, const double(&sums)[1]) { store_one(static_cast<float>(sums[0] * p.factor), p.y + c); });
  }
};

#define RIDGELINE_COLUMN_SUMS_KERNELS(K)         \
  K(column_sums_f32, ColumnSums<float, 4>)       \
  K(column_sums_bf16, ColumnSums<bfloat16, 8>)   \
  K(column_sums_f16, ColumnSums<float16, 8>)     \
  K(column_sums_f32_1, ColumnSums<float, 1>)     \
  K(column_sums_bf16_1, ColumnSums<bfloat16, 1>) \
  K(column_sums_f16_1, ColumnSums<float16, 1>)   \
  K(column_totals_f32, ColumnTotals<float>)      \
  K(column_totals_bf16, ColumnTotals<bfloat16>)  \
  K(column_totals_f16, ColumnTotals<float16>)

}  // namespace ridgeline::cuda
