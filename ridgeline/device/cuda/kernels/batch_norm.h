// ridgeline/device/cuda/kernels/batch_norm.h
//
// Batch norm over NHWC in training and inference, with the addend and the relu after it. Sums in f32 over a thread's
// rows (of differences from the first row, so that a large mean costs no digits), in double over chunks. T is the
// images' type; values of channels are f32. V channels are read by one access. A first pass over the images makes sums
// and a second one results, from the last rows to the first: what the first pass read at its end is still in the cache.
#pragma once

#include "ridgeline/device/cuda/kernels/batch_norm_gradient.h"
#include "ridgeline/device/cuda/kernels/rows_of_channels.h"

namespace ridgeline::cuda {

// partial[chunk] = sums of x - x[0] and of its square.
template <class T, int V>
struct NormSums {
  struct Parameters {
    const T* x;
    float* partial;
    RowTiles tiles;
  };
  using Shared = RowSumsShared<2, V>;
  static constexpr int kThreads = kRowThreads;
  static constexpr int kBlocksAtOnce = kBlocksOfOneWave;
  static Blocks blocks(const Parameters& p) { return {p.tiles.tiles, p.tiles.chunks}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.tiles.elements());
    list.writes(p.partial, 2 * p.tiles.partial_sums());
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    struct Registers {
      float sums[2][V];
    };
    const RowTiles& t = p.tiles;
    typename Block::template PerThread<Registers> registers;
    block.each_thread([&](int thread) {
      const ThreadRows rows = t.spread(block.x(), block.y(), thread);
      Registers& r = registers[thread];
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) r.sums[0][v] = r.sums[1][v] = 0;
      if (rows.count == 0) return;
      float pivot[V];
      load(p.x + rows.channel, pivot);
      over_rows<rows_ahead<T, V>(1)>(
          t, rows, [&](u32, u32 at) { return load_pack<V>(p.x + at); },
          [&](u32, u32, const Pack<T, V>& pack) {
            float x[V];
            widen(pack, x);
            RIDGELINE_UNROLL
            for (int v = 0; v < V; ++v) {
              const float d = x[v] - pivot[v];
              r.sums[0][v] += d;
              r.sums[1][v] = fused(d, d, r.sums[1][v]);
            }
          });
    });
    write_row_sums<2, V>(block, t, block.x(), block.y(), registers, shared, p.partial);
  }
};

// Statistics from the sums, and new running statistics.
template <class T>
struct NormStatistics {
  struct Parameters {
    const T* x;
    const float* partial;
    u32 chunks;
    i64 rows, channels;
    double epsilon, momentum;
    const float *gamma, *running_mean, *running_var;
    float *mean, *inv_std, *new_running_mean, *new_running_var;
    float* scale;  // gamma * inv_std
  };
  using Shared = ChunkSumsShared<2>;
  static constexpr int kThreads = kSumThreads;
  static Blocks blocks(const Parameters& p) { return {sum_chunks_blocks(p.channels)}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.channels);
    list.reads(p.partial, 2 * p.chunks * p.channels);
    list.reads(p.gamma, p.channels);
    list.reads(p.running_mean, p.channels);
    list.reads(p.running_var, p.channels);
    list.writes(p.mean, p.channels);
    list.writes(p.inv_std, p.channels);
    list.writes(p.new_running_mean, p.channels);
    list.writes(p.new_running_var, p.channels);
    list.writes(p.scale, p.channels);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    sum_chunks<2>(block, p.partial, p.chunks, p.channels, shared, [&](i64 c, const double(&sums)[2]) {
      const double count = static_cast<double>(p.rows);
      const double offset = sums[0] / count;
      const double mean = static_cast<double>(load_one(p.x + c)) + offset;
      double squares = sums[1] - sums[0] * offset;
      if (squares < 0) squares = 0;
      const double inv_std = 1 / root(squares / count + p.epsilon);
      p.mean[c] = static_cast<float>(mean);
      p.inv_std[c] = static_cast<float>(inv_std);
      p.scale[c] = p.gamma[c] * p.inv_std[c];
      const double kept = 1 - p.momentum;
      p.new_running_mean[c] = static_cast<float>(kept * static_cast<double>(p.running_mean[c]) + p.momentum * mean);
      p.new_running_var[c] =
          static_cast<float>(kept * static_cast<double>(p.running_var[c]) + p.momentum * (squares / (count - 1)));
    });
  }
};

// scale = gamma * inv_std from given statistics.
struct NormScale {
  struct Parameters {
    const float *gamma, *var;
    float* scale;
    i64 channels;
    double epsilon;
    bool var_is_inv_std;
  };
  using Shared = Nothing;
  static constexpr int kThreads = 128;
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(divided_up(p.channels, kThreads))}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.gamma, p.channels);
    list.reads(p.var, p.channels);
    list.writes(p.scale, p.channels);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    block.each_thread([&](int thread) {
      const i64 c = static_cast<i64>(block.x()) * kThreads + thread;
      if (c >= p.channels) return;
      const double var = static_cast<double>(p.var[c]);
      const double inv_std = p.var_is_inv_std ? var : 1 / root(var + p.epsilon);
      p.scale[c] = p.gamma[c] * static_cast<float>(inv_std);
    });
  }
};

// y = (x - mean) * scale + beta [+ addend], then relu: min(max(y, 0), ceiling).
template <class T, int V>
struct Normalise {
  struct Parameters {
    const T* x;
    const T* addend;  // null: none
    T* y;
    const float *mean, *scale, *beta;
    bool relu;
    float ceiling;
    RowTiles tiles;
  };
  using Shared = Nothing;
  static constexpr int kThreads = kRowThreads;
  static constexpr int kBlocksAtOnce = kBlocksOfOneWave;
  static Blocks blocks(const Parameters& p) { return {p.tiles.tiles, p.tiles.chunks}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.tiles.elements());
    list.reads(p.addend, p.tiles.elements());
    list.writes(p.y, p.tiles.elements());
    list.reads(p.mean, p.tiles.channels);
    list.reads(p.scale, p.tiles.channels);
    list.reads(p.beta, p.tiles.channels);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    const RowTiles& t = p.tiles;
    block.each_thread([&](int thread) {
      const ThreadRows rows = t.from_the_end(block.x(), block.y(), thread);
      if (rows.count == 0) return;
      float mean[V], scale[V], beta[V];
      load_channels(p.mean + rows.channel, mean);
      load_channels(p.scale + rows.channel, scale);
      load_channels(p.beta + rows.channel, beta);
      const auto finish = [&](u32 at, float(&y)[V]) {
        if (p.relu) {
          RIDGELINE_UNROLL
          for (int v = 0; v < V; ++v) y[v] = smaller(larger(y[v], 0.0f), p.ceiling);
        }
        store(y, p.y + at);
      };
      if (p.addend == nullptr) {
        over_rows<rows_ahead<T, V>(2)>(
            t, rows, [&](u32, u32 at) { return load_pack_last<V>(p.x + at); },
            [&](u32, u32 at, const Pack<T, V>& pack) {
              float y[V];
              widen(pack, y);
              RIDGELINE_UNROLL
              for (int v = 0; v < V; ++v) y[v] = (y[v] - mean[v]) * scale[v] + beta[v];
              finish(at, y);
            });
        return;
      }
      struct Both {
        Pack<T, V> x, addend;
      };
      over_rows<rows_ahead<T, V>(3)>(
          t, rows, [&](u32, u32 at) { return Both{load_pack_last<V>(p.x + at), load_pack_last<V>(p.addend + at)}; },
          [&](u32, u32 at, const Both& both) {
            float y[V], addend[V];
            widen(both.x, y);
            widen(both.addend, addend);
            RIDGELINE_UNROLL
            for (int v = 0; v < V; ++v) y[v] = (y[v] - mean[v]) * scale[v] + beta[v] + addend[v];
            finish(at, y);
          });
    });
  }
};

#define RIDGELINE_GATE_FORMS(K, name, Body, suffix, ...)                 \
  K(name##_##suffix, Body<__VA_ARGS__, GateForm::open>)                  \
  K(name##_of_x_##suffix, Body<__VA_ARGS__, GateForm::of_x>)             \
  K(name##_of_y_##suffix, Body<__VA_ARGS__, GateForm::of_y>)             \
  K(name##_added_##suffix, Body<__VA_ARGS__, GateForm::added>)           \
  K(name##_added_of_x_##suffix, Body<__VA_ARGS__, GateForm::added_of_x>) \
  K(name##_added_of_y_##suffix, Body<__VA_ARGS__, GateForm::added_of_y>)

#define RIDGELINE_BATCH_NORM_KERNELS(K)                                            \
  K(norm_sums_f32, NormSums<float, 4>)                                             \
  K(norm_sums_bf16, NormSums<bfloat16, 4>)                                         \
  K(norm_sums_f16, NormSums<float16, 4>)                                           \
  K(norm_sums_f32_1, NormSums<float, 1>)                                           \
  K(norm_sums_bf16_1, NormSums<bfloat16, 1>)                                       \
  K(norm_sums_f16_1, NormSums<float16, 1>)                                         \
  K(norm_statistics_f32, NormStatistics<float>)                                    \
  K(norm_statistics_bf16, NormStatistics<bfloat16>)                                \
  K(norm_statistics_f16, NormStatistics<float16>)                                  \
  K(norm_scale, NormScale)                                                         \
  K(normalise_f32, Normalise<float, 4>)                                            \
  K(normalise_bf16, Normalise<bfloat16, 4>)                                        \
  K(normalise_f16, Normalise<float16, 4>)                                          \
  K(normalise_f32_1, Normalise<float, 1>)                                          \
  K(normalise_bf16_1, Normalise<bfloat16, 1>)                                      \
  K(normalise_f16_1, Normalise<float16, 1>)                                        \
  RIDGELINE_GATE_FORMS(K, norm_gradient_sums, NormGradientSums, f32, float, 4)     \
  RIDGELINE_GATE_FORMS(K, norm_gradient_sums, NormGradientSums, bf16, bfloat16, 4) \
  RIDGELINE_GATE_FORMS(K, norm_gradient_sums, NormGradientSums, f16, float16, 4)   \
  K(norm_gradient_sums_f32_1, NormGradientSums<float, 1, GateForm::told>)          \
  K(norm_gradient_sums_bf16_1, NormGradientSums<bfloat16, 1, GateForm::told>)      \
  K(norm_gradient_sums_f16_1, NormGradientSums<float16, 1, GateForm::told>)        \
  K(norm_gradient_factors, NormGradientFactors)                                    \
  RIDGELINE_GATE_FORMS(K, norm_gradient, NormGradient, f32, float, 4)              \
  RIDGELINE_GATE_FORMS(K, norm_gradient, NormGradient, bf16, bfloat16, 4)          \
  RIDGELINE_GATE_FORMS(K, norm_gradient, NormGradient, f16, float16, 4)            \
  K(norm_gradient_f32_1, NormGradient<float, 1, GateForm::told>)                   \
  K(norm_gradient_bf16_1, NormGradient<bfloat16, 1, GateForm::told>)               \
  K(norm_gradient_f16_1, NormGradient<float16, 1, GateForm::told>)

}  // namespace ridgeline::cuda
