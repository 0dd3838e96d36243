// ridgeline/device/cuda/kernels/sample_norm.h
//
// Layer norm and group norm, and their gradients (graph/op/layer_norm.h). If a sample is one row, the kernels are in
// row_norm.h. Else sums of channels are taken over chunks of positions (rows_of_channels.h), combined for groups, and
// another kernel writes the result; sums of chunks are in double. The sums of a group are of differences from its first
// value, so that a mean that is large compared with the deviation costs no digits.
#pragma once

#include "ridgeline/device/cuda/kernels/row_norm.h"
#include "ridgeline/device/cuda/kernels/rows_of_channels.h"

namespace ridgeline::cuda {

// How each of the batches of rows is divided: the grid's x counts tiles of channels within batches.
struct NormTiles {
  RowTiles tiles;
  Divisor channel_tiles;
  u32 batches;
  i64 groups, group_channels;

  Blocks blocks() const { return {tiles.tiles * batches, tiles.chunks}; }
  i64 elements() const { return batches * tiles.elements(); }
  i64 chunks() const { return static_cast<i64>(batches) * tiles.chunks; }
  i64 lines() const { return batches * groups; }
  RIDGELINE_DEVICE i64 values_of_batch() const { return tiles.rows * tiles.channels; }
  RIDGELINE_DEVICE i64 values_of_group() const { return tiles.rows * group_channels; }
};

// Computes two sums of each channel over a chunk into partial: add(state, values, sums) adds the values that read(row,
// at) gives for each row of the chunk, where `at` is the position of the thread's first channel; begin(batch, channel)
// gives the state of V channels. A thread sums over its rows in order.
template <int V, class Block, class Begin, class Read, class Add>
RIDGELINE_DEVICE void sum_channels(Block& block, const NormTiles& tiles, RowSumsShared<2, V>& shared, float* partial,
                                   const Begin& begin, const Read& read, const Add& add) {
  struct Registers {
    float sums[2][V];
  };
  const RowTiles& t = tiles.tiles;
  u32 batch = block.x();
  const u32 tile = tiles.channel_tiles.split(batch);
  typename Block::template PerThread<Registers> registers;
  block.each_thread([&](int thread) {
    const ThreadRows rows = t.spread(tile, block.y(), thread);
    Registers& r = registers[thread];
    RIDGELINE_UNROLL
    for (int v = 0; v < V; ++v) r.sums[0][v] = r.sums[1][v] = 0;
    if (rows.count == 0) return;
    const auto state = begin(batch, i64{rows.channel});
    const i64 first = batch * tiles.values_of_batch();
    over_rows<4>(
        t, rows, [&](u32 row, u32 at) { return read(row, first + at); },
        [&](u32, u32, const auto& values) { add(state, values, r.sums); });
  });
  write_row_sums<2, V>(block, t, tile, batch * t.chunks + block.y(), registers, shared, partial);
}

// For each channel, over a chunk: the sums of dy * xhat and of dy. kRows: each row has statistics of its own, else each
// group of a batch.
template <class T, int V, bool kRows>
struct NormParameterSums {
  struct Parameters {
    const T *x, *dy;
    const float *mean, *inv_std;
    float* partial;  // [batches * chunks][2][channels]
    NormTiles tiles;
  };
  using Shared = RowSumsShared<2, V>;
  static constexpr int kThreads = kRowThreads;
  static Blocks blocks(const Parameters& p) { return p.tiles.blocks(); }
  static void pointers(const Parameters& p, PointerList& list) {
    const i64 lines = kRows ? p.tiles.tiles.rows : p.tiles.lines();
    list.reads(p.x, p.tiles.elements());
    list.reads(p.dy, p.tiles.elements());
    list.reads(p.mean, lines);
    list.reads(p.inv_std, lines);
    list.writes(p.partial, p.tiles.chunks() * 2 * p.tiles.tiles.channels);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    struct Row {
      Pack<T, V> x, dy;
      float mean, inv_std;
    };
    struct Lines {
      float mean[V], inv_std[V];
    };
    sum_channels<V>(
        block, p.tiles, shared, p.partial,
        [&](u32 batch, i64 channel) {
          Lines lines;
          RIDGELINE_UNROLL
          for (int v = 0; v < V; ++v) {
            const i64 line = kRows ? 0 : batch * p.tiles.groups + (channel + v) / p.tiles.group_channels;
            lines.mean[v] = kRows ? 0 : p.mean[line];
            lines.inv_std[v] = kRows ? 0 : p.inv_std[line];
          }
          return lines;
        },
        [&](i64 row, i64 at) {
          Row values{load_pack<V>(p.x + at), load_pack<V>(p.dy + at), 0, 0};
          if constexpr (kRows) {
            values.mean = p.mean[row];
            values.inv_std = p.inv_std[row];
          }
          return values;
        },
        [](const Lines& lines, const Row& values, float(&sums)[2][V]) {
          float x[V], dy[V];
          widen(values.x, x);
          widen(values.dy, dy);
          RIDGELINE_UNROLL
          for (int v = 0; v < V; ++v) {
            const float xhat =
                kRows ? (x[v] - values.mean) * values.inv_std : (x[v] - lines.mean[v]) * lines.inv_std[v];
            sums[0][v] = fused(dy[v], xhat, sums[0][v]);
            sums[1][v] += dy[v];
          }
        });
  }
};

struct NormParameterTotals {
  struct Parameters {
    const float* partial;
    u32 chunks;
    i64 channels;
    float *dgamma, *dbeta;
  };
  using Shared = ChunkSumsShared<2>;
  static constexpr int kThreads = kSumThreads;
  static Blocks blocks(const Parameters& p) { return {sum_chunks_blocks(p.channels)}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.partial, p.chunks * 2 * p.channels);
    list.writes(p.dgamma, p.channels);
    list.writes(p.dbeta, p.channels);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    sum_chunks<2>(block, p.partial, p.chunks, p.channels, shared, [&](i64 c, const double(&sums)[2]) {
      p.dgamma[c] = static_cast<float>(sums[0]);
      p.dbeta[c] = static_cast<float>(sums[1]);
    });
  }
};

// For each channel, over a chunk: the sums of d and of d*d, d the difference from the first value of its group.
template <class T, int V>
struct GroupSums {
  struct Parameters {
    const T* x;
    float* partial;  // [batches * chunks][2][channels]
    NormTiles tiles;
  };
  using Shared = RowSumsShared<2, V>;
  static constexpr int kThreads = kRowThreads;
  static Blocks blocks(const Parameters& p) { return p.tiles.blocks(); }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.tiles.elements());
    list.writes(p.partial, p.tiles.chunks() * 2 * p.tiles.tiles.channels);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    struct First {
      float values[V];
    };
    sum_channels<V>(
        block, p.tiles, shared, p.partial,
        [&](u32 batch, i64 channel) {
          const T* const x = p.x + batch * p.tiles.values_of_batch();
          First first;
          RIDGELINE_UNROLL
          for (int v = 0; v < V; ++v)
            first.values[v] = load_one(x + (channel + v) / p.tiles.group_channels * p.tiles.group_channels);
          return first;
        },
        [&](i64, i64 at) { return load_pack<V>(p.x + at); },
        [](const First& first, const Pack<T, V>& pack, float(&sums)[2][V]) {
          float values[V];
          widen(pack, values);
          RIDGELINE_UNROLL
          for (int v = 0; v < V; ++v) {
            const float d = values[v] - first.values[v];
            sums[0][v] += d;
            sums[1][v] = fused(d, d, sums[1][v]);
          }
        });
  }
};

// Sums over the chunks and channels of a group, one group per block, of partial sums times weight(channel): they end in
// shared.first[0] and shared.second[0].
struct GroupTotalsShared {
  double first[256];
  double second[256];
};
template <class Block, class Weight>
RIDGELINE_DEVICE void sum_group(Block& block, const NormTiles& tiles, const float* partial, u32 batch, i64 group,
                                GroupTotalsShared& shared, const Weight& weight) {
  constexpr int kThreads = 256;
  const i64 channels = tiles.tiles.channels, width = tiles.group_channels;
  const i64 items = tiles.tiles.chunks * width;
  block.each_thread([&](int thread) {
    double first = 0, second = 0;
    for (i64 item = thread; item < items; item += kThreads) {
      const i64 channel = group * width + item % width;
      const float* const from = partial + (batch * i64{tiles.tiles.chunks} + item / width) * 2 * channels + channel;
      first += static_cast<double>(from[0]) * weight(channel);
      second += static_cast<double>(from[channels]) * weight(channel);
    }
    shared.first[thread] = first;
    shared.second[thread] = second;
  });
  tree<kThreads>(block, kThreads, 1, [&](int i, int j) {
    shared.first[i] += shared.first[j];
    shared.second[i] += shared.second[j];
  });
}

template <class T>
struct GroupStatistics {
  struct Parameters {
    const T* x;  // for the first value of each group
    const float* partial;
    float *mean, *inv_std;
    NormTiles tiles;
    Divisor groups;
    double epsilon;
  };
  using Shared = GroupTotalsShared;
  static constexpr int kThreads = 256;
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(p.tiles.lines())}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.tiles.elements());
    list.reads(p.partial, p.tiles.chunks() * 2 * p.tiles.tiles.channels);
    list.writes(p.mean, p.tiles.lines());
    list.writes(p.inv_std, p.tiles.lines());
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    u32 batch = block.x();
    const i64 group = p.groups.split(batch);
    sum_group(block, p.tiles, p.partial, batch, group, shared, [](i64) { return 1.0; });
    block.each_thread([&](int thread) {
      if (thread != 0) return;
      const auto count = static_cast<double>(p.tiles.values_of_group());
      const double off = shared.first[0] / count;
      const float first = load_one(p.x + batch * p.tiles.values_of_batch() + group * p.tiles.group_channels);
      p.mean[block.x()] = static_cast<float>(static_cast<double>(first) + off);
      p.inv_std[block.x()] = inverse_deviation(shared.second[0] / count - off * off, p.epsilon);
    });
  }
};

// For each group the means of dy * gamma and of dy * gamma * xhat.
struct GroupGradientMeans {
  struct Parameters {
    const float *partial, *gamma;
    float *of_sum, *of_product;
    NormTiles tiles;
    Divisor groups;
  };
  using Shared = GroupTotalsShared;
  static constexpr int kThreads = 256;
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(p.tiles.lines())}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.partial, p.tiles.chunks() * 2 * p.tiles.tiles.channels);
    list.reads(p.gamma, p.tiles.tiles.channels);
    list.writes(p.of_sum, p.tiles.lines());
    list.writes(p.of_product, p.tiles.lines());
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    u32 batch = block.x();
    const i64 group = p.groups.split(batch);
    sum_group(block, p.tiles, p.partial, batch, group, shared,
              [&](i64 channel) { return static_cast<double>(p.gamma[channel]); });
    block.each_thread([&](int thread) {
      if (thread != 0) return;
      const auto count = static_cast<double>(p.tiles.values_of_group());
      p.of_product[block.x()] = static_cast<float>(shared.first[0] / count);
      p.of_sum[block.x()] = static_cast<float>(shared.second[0] / count);
    });
  }
};

// The position of an element, for kernels that process all of them.
struct NormPlaces {
  i64 vectors;  // groups of V neighbouring channels
  Divisor row_vectors, positions, group_channels;
  i64 groups;
  i64 channels, samples;
};

// kGradient: dx from x and dy, else y from x.
template <class T, int V, bool kGradient>
struct GroupApply {
  struct Parameters {
    const T *x, *dy;
    const float *gamma, *beta, *mean, *inv_std, *of_sum, *of_product;
    T* result;  // may be x or dy
    NormPlaces places;
  };
  using Shared = Nothing;
  static constexpr int kThreads = 256;
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(divided_up(p.places.vectors, kThreads))}; }
  static void pointers(const Parameters& p, PointerList& list) {
    const i64 elements = p.places.vectors * V, lines = p.places.samples * p.places.groups;
    list.reads(p.x, elements);
    list.reads(p.dy, elements);
    list.reads(p.gamma, p.places.channels);
    list.reads(p.beta, p.places.channels);
    list.reads(p.mean, lines);
    list.reads(p.inv_std, lines);
    list.reads(p.of_sum, lines);
    list.reads(p.of_product, lines);
    list.writes(p.result, elements);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    block.each_thread([&](int thread) {
      const i64 at = static_cast<i64>(block.x()) * kThreads + thread;
      if (at >= p.places.vectors) return;
      u32 sample = static_cast<u32>(at);
      const u32 channel = p.places.row_vectors.split(sample) * V;
      p.places.positions.split(sample);
      float x[V], dy[V];
      load(p.x + at * V, x);
      if constexpr (kGradient) load(p.dy + at * V, dy);
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) {
        const u32 c = channel + v;
        const i64 line = sample * p.places.groups + p.places.group_channels.quotient(c);
        const float xhat = (x[v] - p.mean[line]) * p.inv_std[line];
        if constexpr (kGradient)
          x[v] = (dy[v] * p.gamma[c] - p.of_sum[line] - xhat * p.of_product[line]) * p.inv_std[line];
        else
          x[v] = xhat * p.gamma[c] + p.beta[c];
      }
      store(x, p.result + at * V);
    });
  }
};

#define RIDGELINE_SAMPLE_NORM_KERNELS(K)                                     \
  K(row_norm_f32, RowNorm<float, 4>)                                         \
  K(row_norm_bf16, RowNorm<bfloat16, 8>)                                     \
  K(row_norm_f16, RowNorm<float16, 8>)                                       \
  K(row_norm_f32_1, RowNorm<float, 1>)                                       \
  K(row_norm_bf16_1, RowNorm<bfloat16, 1>)                                   \
  K(row_norm_f16_1, RowNorm<float16, 1>)                                     \
  K(row_norm_gradient_f32, RowNormGradient<float, 4>)                        \
  K(row_norm_gradient_bf16, RowNormGradient<bfloat16, 8>)                    \
  K(row_norm_gradient_f16, RowNormGradient<float16, 8>)                      \
  K(row_norm_gradient_f32_1, RowNormGradient<float, 1>)                      \
  K(row_norm_gradient_bf16_1, RowNormGradient<bfloat16, 1>)                  \
  K(row_norm_gradient_f16_1, RowNormGradient<float16, 1>)                    \
  K(row_norm_parameter_sums_f32, NormParameterSums<float, 4, true>)          \
  K(row_norm_parameter_sums_bf16, NormParameterSums<bfloat16, 8, true>)      \
  K(row_norm_parameter_sums_f16, NormParameterSums<float16, 8, true>)        \
  K(row_norm_parameter_sums_f32_1, NormParameterSums<float, 1, true>)        \
  K(row_norm_parameter_sums_bf16_1, NormParameterSums<bfloat16, 1, true>)    \
  K(row_norm_parameter_sums_f16_1, NormParameterSums<float16, 1, true>)      \
  K(norm_parameter_totals, NormParameterTotals)                              \
  K(group_norm_parameter_sums_f32, NormParameterSums<float, 4, false>)       \
  K(group_norm_parameter_sums_bf16, NormParameterSums<bfloat16, 8, false>)   \
  K(group_norm_parameter_sums_f16, NormParameterSums<float16, 8, false>)     \
  K(group_norm_parameter_sums_f32_1, NormParameterSums<float, 1, false>)     \
  K(group_norm_parameter_sums_bf16_1, NormParameterSums<bfloat16, 1, false>) \
  K(group_norm_parameter_sums_f16_1, NormParameterSums<float16, 1, false>)   \
  K(group_norm_sums_f32, GroupSums<float, 4>)                                \
  K(group_norm_sums_bf16, GroupSums<bfloat16, 8>)                            \
  K(group_norm_sums_f16, GroupSums<float16, 8>)                              \
  K(group_norm_sums_f32_1, GroupSums<float, 1>)                              \
  K(group_norm_sums_bf16_1, GroupSums<bfloat16, 1>)                          \
  K(group_norm_sums_f16_1, GroupSums<float16, 1>)                            \
  K(group_norm_statistics_f32, GroupStatistics<float>)                       \
  K(group_norm_statistics_bf16, GroupStatistics<bfloat16>)                   \
  K(group_norm_statistics_f16, GroupStatistics<float16>)                     \
  K(group_norm_gradient_means, GroupGradientMeans)                           \
  K(group_norm_f32, GroupApply<float, 4, false>)                             \
  K(group_norm_bf16, GroupApply<bfloat16, 8, false>)                         \
  K(group_norm_f16, GroupApply<float16, 8, false>)                           \
  K(group_norm_f32_1, GroupApply<float, 1, false>)                           \
  K(group_norm_bf16_1, GroupApply<bfloat16, 1, false>)                       \
  K(group_norm_f16_1, GroupApply<float16, 1, false>)                         \
  K(group_norm_gradient_f32, GroupApply<float, 4, true>)                     \
  K(group_norm_gradient_bf16, GroupApply<bfloat16, 8, true>)                 \
  K(group_norm_gradient_f16, GroupApply<float16, 8, true>)                   \
  K(group_norm_gradient_f32_1, GroupApply<float, 1, true>)                   \
  K(group_norm_gradient_bf16_1, GroupApply<bfloat16, 1, true>)               \
  K(group_norm_gradient_f16_1, GroupApply<float16, 1, true>)

}  // namespace ridgeline::cuda
