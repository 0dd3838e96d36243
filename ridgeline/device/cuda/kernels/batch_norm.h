// ridgeline/device/cuda/kernels/batch_norm.h
//
// Batch norm over NHWC in training and inference, with the addend and the relu after it, and its gradient with the
// relu's gate. Sums in f32 over a thread's rows (of differences from the first row, so that a large mean costs no
// digits), in double over chunks. T is the images' type; values of channels are f32. V channels are read by one access.
#pragma once

#include "ridgeline/device/cuda/kernels/rows_of_channels.h"

namespace ridgeline::cuda {

enum class Gate : u32 { none, of_x, of_y };

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
      const i64 channel = (static_cast<i64>(block.x()) * t.lanes + thread % t.lanes) * V;
      Registers& r = registers[thread];
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) r.sums[0][v] = r.sums[1][v] = 0;
      if (channel >= t.channels) return;
      float pivot[V];
      load(p.x + channel, pivot);
      const T* const from = p.x + channel;
      over_rows(
          t.begin(block.y()) + thread / t.lanes, t.end(block.y()), t.row_step(),
          [&](i64 row) { return load_pack<V>(from + row * t.channels); },
          [&](i64, const Pack<T, V>& pack) {
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
      const i64 channel = (static_cast<i64>(block.x()) * t.lanes + thread % t.lanes) * V;
      if (channel >= t.channels) return;
      const i64 begin = t.begin(block.y()) + thread / t.lanes, end = t.end(block.y());
      float mean[V], scale[V], beta[V];
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) {
        mean[v] = p.mean[channel + v];
        scale[v] = p.scale[channel + v];
        beta[v] = p.beta[channel + v];
      }
      const auto finish = [&](i64 row, float(&y)[V]) {
        if (p.relu) {
          RIDGELINE_UNROLL
          for (int v = 0; v < V; ++v) y[v] = smaller(larger(y[v], 0.0f), p.ceiling);
        }
        store(y, p.y + row * t.channels + channel);
      };
      if (p.addend == nullptr) {
        over_rows(
            begin, end, t.row_step(), [&](i64 row) { return load_pack<V>(p.x + row * t.channels + channel); },
            [&](i64 row, const Pack<T, V>& pack) {
              float y[V];
              widen(pack, y);
              RIDGELINE_UNROLL
              for (int v = 0; v < V; ++v) y[v] = (y[v] - mean[v]) * scale[v] + beta[v];
              finish(row, y);
            });
        return;
      }
      struct Both {
        Pack<T, V> x, addend;
      };
      over_rows(
          begin, end, t.row_step(),
          [&](i64 row) {
            const i64 at = row * t.channels + channel;
            return Both{load_pack<V>(p.x + at), load_pack<V>(p.addend + at)};
          },
          [&](i64 row, const Both& both) {
            float y[V], addend[V];
            widen(both.x, y);
            widen(both.addend, addend);
            RIDGELINE_UNROLL
            for (int v = 0; v < V; ++v) y[v] = (y[v] - mean[v]) * scale[v] + beta[v] + addend[v];
            finish(row, y);
          });
    });
  }
};

// g = dy [+ addend], 0 where the gate is closed.
template <class T, int V>
struct GatedGradient {
  const T *x, *dy;
  const T* addend;  // null: none
  const T* y;       // of_y
  Gate gate;
  float closed_from;  // and above; NaN: without end

  void pointers(const RowTiles& tiles, PointerList& list) const {
    for (const T* const* image : {&x, &dy, &addend, &y}) list.reads(*image, tiles.elements());
  }

  struct Packs {
    Pack<T, V> x, dy, addend, y;
  };
  RIDGELINE_DEVICE Packs read(i64 at) const {
    Packs packs;
    packs.x = load_pack<V>(x + at);
    packs.dy = load_pack<V>(dy + at);
    if (addend != nullptr) packs.addend = load_pack<V>(addend + at);
    if (gate == Gate::of_y) packs.y = load_pack<V>(y + at);
    return packs;
  }
  // x - mean and g.
  RIDGELINE_DEVICE void take(const Packs& packs, const float (&mean)[V], const float (&scale)[V],
                             const float (&beta)[V], float (&d)[V], float (&g)[V]) const {
    widen(packs.x, d);
    widen(packs.dy, g);
    RIDGELINE_UNROLL
    for (int v = 0; v < V; ++v) d[v] = d[v] - mean[v];
    if (addend != nullptr) {
      float more[V];
      widen(packs.addend, more);
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) g[v] += more[v];
    }
    if (gate == Gate::of_y) {
      float of[V];
      widen(packs.y, of);
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) g[v] = of[v] <= 0 || of[v] >= closed_from ? 0.0f : g[v];
    } else if (gate == Gate::of_x) {
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) {
        const float of = d[v] * scale[v] + beta[v];
        g[v] = of <= 0 || of >= closed_from ? 0.0f : g[v];
      }
    }
  }
};

// partial[chunk] = sums of g and of g * (x - mean); also g if it is a result.
template <class T, int V>
struct NormGradientSums {
  struct Parameters {
    GatedGradient<T, V> gradient;
    const float *mean, *inv_std, *gamma;
    const float* beta;  // of_x
    T* g;               // null: no result
    float* partial;
    RowTiles tiles;
  };
  using Shared = RowSumsShared<2, V>;
  static constexpr int kThreads = kRowThreads;
  static Blocks blocks(const Parameters& p) { return {p.tiles.tiles, p.tiles.chunks}; }
  static void pointers(const Parameters& p, PointerList& list) {
    p.gradient.pointers(p.tiles, list);
    list.reads(p.mean, p.tiles.channels);
    list.reads(p.inv_std, p.tiles.channels);
    list.reads(p.gamma, p.tiles.channels);
    list.reads(p.beta, p.tiles.channels);
    list.writes(p.g, p.tiles.elements());
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
      const i64 channel = (static_cast<i64>(block.x()) * t.lanes + thread % t.lanes) * V;
      Registers& r = registers[thread];
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) r.sums[0][v] = r.sums[1][v] = 0;
      if (channel >= t.channels) return;
      float mean[V], scale[V], beta[V];
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) {
        mean[v] = p.mean[channel + v];
        const bool again = p.gradient.gate == Gate::of_x;
        scale[v] = again ? p.gamma[channel + v] * p.inv_std[channel + v] : 0;
        beta[v] = again ? p.beta[channel + v] : 0;
      }
      over_rows(
          t.begin(block.y()) + thread / t.lanes, t.end(block.y()), t.row_step(),
          [&](i64 row) { return p.gradient.read(row * t.channels + channel); },
          [&](i64 row, const typename GatedGradient<T, V>::Packs& packs) {
            float d[V], g[V];
            p.gradient.take(packs, mean, scale, beta, d, g);
            if (p.g != nullptr) {
              store(g, p.g + row * t.channels + channel);
              RIDGELINE_UNROLL
              for (int v = 0; v < V; ++v) g[v] = as_stored<T>(g[v]);  // what NormGradient reads
            }
            RIDGELINE_UNROLL
            for (int v = 0; v < V; ++v) {
              r.sums[0][v] += g[v];
              r.sums[1][v] = fused(g[v], d[v], r.sums[1][v]);
            }
          });
    });
    write_row_sums<2, V>(block, t, block.x(), block.y(), registers, shared, p.partial);
  }
};

// Computes dbeta, dgamma and the factors of NormGradient.
struct NormGradientFactors {
  struct Parameters {
    const float* partial;
    u32 chunks;
    i64 rows, channels;
    const float *gamma, *inv_std;
    float *dgamma, *dbeta;
    float *outer, *constant, *slope;
  };
  using Shared = ChunkSumsShared<2>;
  static constexpr int kThreads = kSumThreads;
  static Blocks blocks(const Parameters& p) { return {sum_chunks_blocks(p.channels)}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.partial, 2 * p.chunks * p.channels);
    list.reads(p.gamma, p.channels);
    list.reads(p.inv_std, p.channels);
    list.writes(p.dgamma, p.channels);
    list.writes(p.dbeta, p.channels);
    list.writes(p.outer, p.channels);
    list.writes(p.constant, p.channels);
    list.writes(p.slope, p.channels);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    sum_chunks<2>(block, p.partial, p.chunks, p.channels, shared, [&](i64 c, const double(&sums)[2]) {
      const double count = static_cast<double>(p.rows);
      const double inv_std = static_cast<double>(p.inv_std[c]);
      const double dgamma = sums[1] * inv_std;
      p.dbeta[c] = static_cast<float>(sums[0]);
      p.dgamma[c] = static_cast<float>(dgamma);
      p.outer[c] = p.gamma[c] * p.inv_std[c];
      p.constant[c] = static_cast<float>(sums[0] / count);
      p.slope[c] = static_cast<float>(dgamma * inv_std / count);
    });
  }
};

// dx = outer * (g - constant - (x - mean) * slope).
template <class T, int V>
struct NormGradient {
  struct Parameters {
    GatedGradient<T, V> gradient;
    const float *mean, *outer, *constant, *slope;
    const float* beta;  // of_x
    T* dx;
    RowTiles tiles;
  };
  using Shared = Nothing;
  static constexpr int kThreads = kRowThreads;
  static Blocks blocks(const Parameters& p) { return {p.tiles.tiles, p.tiles.chunks}; }
  static void pointers(const Parameters& p, PointerList& list) {
    p.gradient.pointers(p.tiles, list);
    list.reads(p.mean, p.tiles.channels);
    list.reads(p.outer, p.tiles.channels);
    list.reads(p.constant, p.tiles.channels);
    list.reads(p.slope, p.tiles.channels);
    list.reads(p.beta, p.tiles.channels);
    list.writes(p.dx, p.tiles.elements());
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    const RowTiles& t = p.tiles;
    block.each_thread([&](int thread) {
      const i64 channel = (static_cast<i64>(block.x()) * t.lanes + thread % t.lanes) * V;
      if (channel >= t.channels) return;
      float mean[V], outer[V], constant[V], slope[V], beta[V];
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) {
        mean[v] = p.mean[channel + v];
        outer[v] = p.outer[channel + v];
        constant[v] = p.constant[channel + v];
        slope[v] = p.slope[channel + v];
        beta[v] = p.gradient.gate == Gate::of_x ? p.beta[channel + v] : 0;
      }
      over_rows(
          t.begin(block.y()) + thread / t.lanes, t.end(block.y()), t.row_step(),
          [&](i64 row) { return p.gradient.read(row * t.channels + channel); },
          [&](i64 row, const typename GatedGradient<T, V>::Packs& packs) {
            float d[V], g[V];
            p.gradient.take(packs, mean, outer, beta, d, g);
            RIDGELINE_UNROLL
            for (int v = 0; v < V; ++v) g[v] = outer[v] * (g[v] - constant[v] - d[v] * slope[v]);
            store(g, p.dx + row * t.channels + channel);
          });
    });
  }
};

#define RIDGELINE_BATCH_NORM_KERNELS(K)                       \
  K(norm_sums_f32, NormSums<float, 4>)                        \
  K(norm_sums_bf16, NormSums<bfloat16, 8>)                    \
  K(norm_sums_f16, NormSums<float16, 8>)                      \
  K(norm_sums_f32_1, NormSums<float, 1>)                      \
  K(norm_sums_bf16_1, NormSums<bfloat16, 1>)                  \
  K(norm_sums_f16_1, NormSums<float16, 1>)                    \
  K(norm_statistics_f32, NormStatistics<float>)               \
  K(norm_statistics_bf16, NormStatistics<bfloat16>)           \
  K(norm_statistics_f16, NormStatistics<float16>)             \
  K(norm_scale, NormScale)                                    \
  K(normalise_f32, Normalise<float, 4>)                       \
  K(normalise_bf16, Normalise<bfloat16, 8>)                   \
  K(normalise_f16, Normalise<float16, 8>)                     \
  K(normalise_f32_1, Normalise<float, 1>)                     \
  K(normalise_bf16_1, Normalise<bfloat16, 1>)                 \
  K(normalise_f16_1, Normalise<float16, 1>)                   \
  K(norm_gradient_sums_f32, NormGradientSums<float, 4>)       \
  K(norm_gradient_sums_bf16, NormGradientSums<bfloat16, 8>)   \
  K(norm_gradient_sums_f16, NormGradientSums<float16, 8>)     \
  K(norm_gradient_sums_f32_1, NormGradientSums<float, 1>)     \
  K(norm_gradient_sums_bf16_1, NormGradientSums<bfloat16, 1>) \
  K(norm_gradient_sums_f16_1, NormGradientSums<float16, 1>)   \
  K(norm_gradient_factors, NormGradientFactors)               \
  K(norm_gradient_f32, NormGradient<float, 4>)                \
  K(norm_gradient_bf16, NormGradient<bfloat16, 8>)            \
  K(norm_gradient_f16, NormGradient<float16, 8>)              \
  K(norm_gradient_f32_1, NormGradient<float, 1>)              \
  K(norm_gradient_bf16_1, NormGradient<bfloat16, 1>)          \
  K(norm_gradient_f16_1, NormGradient<float16, 1>)

}  // namespace ridgeline::cuda
