// ridgeline/device/cuda/kernels/rows_of_channels.h
//
// How the kernels that sum over rows of channels, [rows, channels], divide their work: a block takes a tile of channels
// and a chunk of rows; in it a thread has neighbouring channels and every k-th row. Sums run over a thread's rows in
// order, then over the threads of a tile by a tree, then over the chunks (sum_chunks). The division depends only on the
// shape.
#pragma once

#include "ridgeline/device/cuda/kernels/pointers.h"

namespace ridgeline::cuda {

inline constexpr int kRowThreads = 256;

// Blocks that fill every existing card.
inline constexpr i64 kFullCard = 1056;
// As many blocks as a card of 132 multiprocessors has at once if a thread of them takes up to 64 registers.
inline constexpr int kBlocksOfOneWave = 4;
inline constexpr i64 kOneWave = 132 * kBlocksOfOneWave;

// The rows of a thread are row, row + step, ...: `count` of them, none for a thread without channels.
struct ThreadRows {
  u32 channel = 0, row = 0, step = 0, count = 0;
};

struct RowTiles {
  i64 rows = 0;
  i64 channels = 0;
  i64 chunk_rows = 0;
  u32 chunks = 0;
  u32 tiles = 0;
  int width = 1;  // channels of a thread
  int lanes = 1;  // neighbouring threads in a row
  int step = 1;   // rows that the threads of a block have at once

  // `wanted`: blocks, which are more only if the tiles of a row are.
  RowTiles() = default;
  RowTiles(i64 all_rows, i64 all_channels, int channels_of_thread, i64 wanted, i64 rows_at_least)
      : rows(all_rows), channels(all_channels), width(channels_of_thread) {
    choose_lanes(divided_up(channels, width));
    const i64 most = divided_up(rows, i64{step} * rows_at_least);
    i64 parts = wanted / tiles;
    if (parts > most) parts = most;
    if (parts < 1) parts = 1;
    chunk_rows = divided_up(divided_up(rows, parts), step) * step;
    chunks = static_cast<u32>(divided_up(rows, chunk_rows));
  }
  i64 elements() const { return rows * channels; }
  i64 partial_sums() const { return static_cast<i64>(chunks) * channels; }

  // Adjacent rows.
  RIDGELINE_DEVICE ThreadRows in_chunk(u32 tile, u32 chunk, int thread) const {
    ThreadRows r = first_rows(tile, thread);
    const u32 all = static_cast<u32>(rows), begin = chunk * static_cast<u32>(chunk_rows);
    const u32 end = begin + static_cast<u32>(chunk_rows);
    r.row += begin;
    count_below(end < all ? end : all, r);
    return r;
  }
  // The same, the last chunk first.
  RIDGELINE_DEVICE ThreadRows from_the_end(u32 tile, u32 block, int thread) const {
    return in_chunk(tile, chunks - 1 - block, thread);
  }
  // A chunk's rows all over x, so that blocks which run together read what is close together.
  RIDGELINE_DEVICE ThreadRows spread(u32 tile, u32 chunk, int thread) const {
    ThreadRows r = first_rows(tile, thread);
    r.row += chunk * r.step;
    r.step *= chunks;
    count_below(static_cast<u32>(rows), r);
    return r;
  }

 private:
  // As many lanes up to 64 as leave few threads of a block without work: a row's channels should be contiguous.
  void choose_lanes(i64 vectors) {
    i64 best = -1;
    for (i64 parts = divided_up(vectors, 64); parts <= divided_up(vectors, 16) || best < 0; ++parts) {
      const i64 wide = divided_up(vectors, parts), high = kRowThreads / wide;
      // Busy threads in 1/1024.
      const i64 busy = wide * high * vectors * 1024 / (wide * parts * kRowThreads);
      if (busy <= best) continue;
      best = busy;
      lanes = static_cast<int>(wide);
      step = static_cast<int>(high);
      tiles = static_cast<u32>(parts);
      if (busy >= 922) break;
    }
  }
  RIDGELINE_DEVICE ThreadRows first_rows(u32 tile, int thread) const {
    const u32 wide = static_cast<u32>(lanes), high = static_cast<u32>(step);
    const u32 lane = static_cast<u32>(thread) % wide, row = static_cast<u32>(thread) / wide;
    const u32 none = ~u32{0};  // channels are fewer
    return {row < high ? (tile * wide + lane) * static_cast<u32>(width) : none, row, high, 0};
  }
  RIDGELINE_DEVICE void count_below(u32 end, ThreadRows& r) const {
    if (r.channel < channels && r.row < end) r.count = (end - r.row + r.step - 1) / r.step;
  }
};

// Calls take(row, at, value) for the rows of a thread in order; read(row, at) reads what a row needs, kAhead rows
// ahead. `at` is the offset of the thread's first channel in that row.
template <int kAhead, class Read, class Take>
RIDGELINE_DEVICE void over_rows(const RowTiles& tiles, const ThreadRows& rows, const Read& read, const Take& take) {
  const u32 width = static_cast<u32>(tiles.channels), stride = rows.step * width;
  u32 row = rows.row, at = row * width + rows.channel;
  for (u32 left = rows.count; left > 0; left = left > kAhead ? left - kAhead : 0) {
    decltype(read(row, at)) some[kAhead];
    RIDGELINE_UNROLL
    for (u32 k = 0; k < kAhead; ++k) {
      if (k < left) some[k] = read(row + k * rows.step, at + k * stride);
    }
    RIDGELINE_UNROLL
    for (u32 k = 0; k < kAhead; ++k) {
      if (k < left) take(row + k * rows.step, at + k * stride, some[k]);
    }
    row += kAhead * rows.step;
    at += kAhead * stride;
  }
}

// How many rows ahead a thread reads `images` images: about 72 bytes, which keep the memory busy and fit into
// registers.
template <class T, int V>
RIDGELINE_DEVICE constexpr int rows_ahead(int images) {
  const int rows = 72 / (static_cast<int>(sizeof(T)) * V * images);
  return rows < 2 ? 2 : rows > 8 ? 8 : rows;
}

// V values of channels; their address need not be aligned.
template <int V>
RIDGELINE_DEVICE void load_channels(const float* from, float (&to)[V]) {
  constexpr int kQuad = V % 4 == 0 ? 4 : 1;
  if (kQuad == 4 && reinterpret_cast<u64>(from) % 16 == 0) {
    RIDGELINE_UNROLL
    for (int q = 0; q < V; q += kQuad) {
      const auto four = load_pack<kQuad>(from + q);
      RIDGELINE_UNROLL
      for (int i = 0; i < kQuad; ++i) to[q + i] = four.at[i];
    }
    return;
  }
  RIDGELINE_UNROLL
  for (int v = 0; v < V; ++v) to[v] = from[v];
}

// The layout of a block of sum_chunks: 8 channels, 64 threads each.
inline constexpr int kSumChannels = 8;
inline constexpr int kSumThreads = 512;
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
      constexpr u32 kAhead = kSums <= 2 ? 8 : 1;  // chunks read at once
      const u32 stride = kSums * static_cast<u32>(channels);
      for (u32 chunk = static_cast<u32>(thread / kSumChannels); chunk < chunks; chunk += kAhead * kSumLanes) {
        float some[kAhead][kSums];
        RIDGELINE_UNROLL
        for (u32 ahead = 0; ahead < kAhead; ++ahead) {
          if (chunk + ahead * kSumLanes >= chunks) continue;
          const float* const from = partial + static_cast<i64>(chunk + ahead * kSumLanes) * stride + channel;
          RIDGELINE_UNROLL
          for (int k = 0; k < kSums; ++k) some[ahead][k] = from[k * channels];
        }
        RIDGELINE_UNROLL
        for (u32 ahead = 0; ahead < kAhead; ++ahead) {
          if (chunk + ahead * kSumLanes >= chunks) continue;
          RIDGELINE_UNROLL
          for (int k = 0; k < kSums; ++k) sums[k] += static_cast<double>(some[ahead][k]);
        }
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

// Sums over a block, [kSums] for each channel, by a tree into partial[chunk].
template <int kSums, int V>
struct RowSumsShared {
  alignas(16) float sums[kSums][kRowThreads * V];
};

// Threads have put theirs into shared memory: thread lane + lanes * row, of `rows` rows.
template <int kSums, int V, class Block>
RIDGELINE_DEVICE void write_shared_sums(Block& block, int lanes, int rows, i64 channels, u32 tile, u32 chunk,
                                        RowSumsShared<kSums, V>& shared, float* partial) {
  const int width = lanes * V;
  tree<kRowThreads>(block, rows, width, [&](int i, int j) {
    RIDGELINE_UNROLL
    for (int k = 0; k < kSums; ++k) shared.sums[k][i] += shared.sums[k][j];
  });
  block.each_thread([&](int thread) {
    RIDGELINE_NO_UNROLL
    for (int i = thread; i < width; i += kRowThreads) {
      const i64 channel = static_cast<i64>(tile) * width + i;
      if (channel >= channels) continue;
      RIDGELINE_UNROLL
      for (int k = 0; k < kSums; ++k)
        partial[(static_cast<i64>(chunk) * kSums + k) * channels + channel] = shared.sums[k][i];
    }
  });
}

template <int kSums, int V, class Block, class Registers>
RIDGELINE_DEVICE void write_row_sums(Block& block, const RowTiles& t, u32 tile, u32 chunk, Registers& registers,
                                     RowSumsShared<kSums, V>& shared, float* partial) {
  block.each_thread([&](int thread) {
    RIDGELINE_UNROLL
    for (int k = 0; k < kSums; ++k) {
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) shared.sums[k][thread * V + v] = registers[thread].sums[k][v];
    }
  });
  write_shared_sums<kSums, V>(block, t.lanes, t.step, t.channels, tile, chunk, shared, partial);
}

}  // namespace ridgeline::cuda
