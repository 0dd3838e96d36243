// ridgeline/device/cuda/kernels/rows_of_channels.h
//
// How the kernels that sum over rows of channels, [rows, channels], divide their work: a block takes a tile of channels
// and a chunk of rows; in it a thread has V neighbouring channels and every k-th row. Sums run over a thread's rows in
// order, then over the threads of a tile by a tree, then over the chunks (ChunkSums). The division depends only on the
// shape.
#pragma once

#include "ridgeline/device/cuda/kernels/pointers.h"

namespace ridgeline::cuda {

inline constexpr int kRowThreads = 256;

struct RowTiles {
  i64 rows = 0;
  i64 channels = 0;
  i64 chunk_rows = 0;
  u32 chunks = 0;
  u32 tiles = 0;
  int lanes = 0;  // neighbouring threads in a row, a power of two up to 32

  // `width`: channels of a thread; `wanted`: blocks that fill the card.
  RowTiles() = default;
  RowTiles(i64 all_rows, i64 all_channels, int width, i64 wanted, i64 rows_at_least)
      : rows(all_rows), channels(all_channels), lanes(1) {
    const i64 vectors = divided_up(channels, width);
    while (lanes < 32 && lanes < vectors) lanes *= 2;
    tiles = static_cast<u32>(divided_up(vectors, lanes));
    const i64 step = row_step();
    const i64 most = divided_up(rows, step * rows_at_least);
    i64 parts = divided_up(wanted, tiles);
    if (parts > most) parts = most;
    if (parts < 1) parts = 1;
    chunk_rows = divided_up(divided_up(rows, parts), step) * step;
    chunks = static_cast<u32>(divided_up(rows, chunk_rows));
  }
  i64 elements() const { return rows * channels; }
  i64 partial_sums() const { return static_cast<i64>(chunks) * channels; }
  RIDGELINE_DEVICE int row_step() const { return kRowThreads / lanes; }
  RIDGELINE_DEVICE i64 begin(u32 chunk) const { return chunk * chunk_rows; }
  RIDGELINE_DEVICE i64 end(u32 chunk) const {
    const i64 end = (chunk + 1) * chunk_rows;
    return end < rows ? end : rows;
  }
};

// Calls each(row, value...) for the rows of a thread in order; `read(row)` reads what a row needs, four rows ahead.
template <class Read, class Take>
RIDGELINE_DEVICE void over_rows(i64 begin, i64 end, int step, const Read& read, const Take& take) {
  constexpr int kAhead = 4;
  i64 row = begin;
  for (; row + static_cast<i64>(kAhead - 1) * step < end; row += static_cast<i64>(kAhead) * step) {
    decltype(read(row)) some[kAhead];
    RIDGELINE_UNROLL
    for (int k = 0; k < kAhead; ++k) some[k] = read(row + k * step);
    RIDGELINE_UNROLL
    for (int k = 0; k < kAhead; ++k) take(row + k * step, some[k]);
  }
  for (; row < end; row += step) take(row, read(row));
}

// The layout of a block of ChunkSums: 8 channels, 32 threads each.
inline constexpr int kSumChannels = 8;
inline constexpr int kSumThreads = 256;
inline constexpr int kSumLanes = kSumThreads / kSumChannels;

template <int kSums>
struct ChunkSumsShared {
  double sums[kSums][kSumThreads];
};

// Sums partial[chunk][k][channel] over the chunks, for kSums values of k, in double, and calls finish(channel, sums)
// for each channel.
template <int kSums, class Block, class Finish>
RIDGELINE_DEVICE void sum_chunks(Block& block, const float* partial, u32 chunks, i64 channels,
                                 ChunkSumsShared<kSums>& shared, const Finish& finish) {
  const i64 first = static_cast<i64>(block.x()) * kSumChannels;
  block.each_thread([&](int thread) {
    const i64 channel = first + thread % kSumChannels;
    double sums[kSums];
    RIDGELINE_UNROLL
    for (int k = 0; k < kSums; ++k) sums[k] = 0;
    if (channel < channels) {
      for (u32 chunk = static_cast<u32>(thread / kSumChannels); chunk < chunks; chunk += kSumLanes) {
        RIDGELINE_UNROLL
        for (int k = 0; k < kSums; ++k)
          sums[k] += static_cast<double>(partial[(static_cast<i64>(chunk) * kSums + k) * channels + channel]);
      }
    }
    RIDGELINE_UNROLL
    for (int k = 0; k < kSums; ++k) shared.sums[k][thread] = sums[k];
  });
  tree<kSumThreads>(block, kSumLanes, kSumChannels, [&](int i, int j) {
    RIDGELINE_UNROLL
    for (int k = 0; k < kSums; ++k) shared.sums[k][i] += shared.sums[k][j];
  });
  block.each_thread([&](int thread) {
    if (thread >= kSumChannels || first + thread >= channels) return;
    double sums[kSums];
    RIDGELINE_UNROLL
    for (int k = 0; k < kSums; ++k) sums[k] = shared.sums[k][thread];
    finish(first + thread, sums);
  });
}

inline u32 sum_chunks_blocks(i64 channels) { return static_cast<u32>(divided_up(channels, kSumChannels)); }

// Blocks that fill every existing card, and the largest number of chunks of a sum.
inline constexpr i64 kFullCard = 1056;

// Sums over a block, [kSums] for each channel: from the threads' registers by a tree into partial[chunk].
template <int kSums, int V>
struct RowSumsShared {
  float sums[kSums][kRowThreads * V];
};

template <int kSums, int V, class Block, class Registers>
RIDGELINE_DEVICE void write_row_sums(Block& block, const RowTiles& t, u32 tile, u32 chunk, Registers& registers,
                                     RowSumsShared<kSums, V>& shared, float* partial) {
  const int width = t.lanes * V;
  block.each_thread([&](int thread) {
    RIDGELINE_UNROLL
    for (int k = 0; k < kSums; ++k) {
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) shared.sums[k][thread * V + v] = registers[thread].sums[k][v];
    }
  });
  tree<kRowThreads>(block, t.row_step(), width, [&](int i, int j) {
    RIDGELINE_UNROLL
    for (int k = 0; k < kSums; ++k) shared.sums[k][i] += shared.sums[k][j];
  });
  block.each_thread([&](int thread) {
    for (int i = thread; i < width; i += kRowThreads) {
      const i64 channel = static_cast<i64>(tile) * width + i;
      if (channel >= t.channels) continue;
      RIDGELINE_UNROLL
      for (int k = 0; k < kSums; ++k)
        partial[(static_cast<i64>(chunk) * kSums + k) * t.channels + channel] = shared.sums[k][i];
    }
  });
}

}  // namespace ridgeline::cuda
