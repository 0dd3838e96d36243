// ridgeline/device/cuda/kernels/batch_norm.h
//
// Batch norm over NHWC in training and inference, with the addend and the relu after it, and its gradient with the
// relu's gate. Sums in f32 over a thread's rows (of differences from the first row, so that a large mean costs no
// digits), in double over chunks. T is the images' type; values of channels are f32. V channels are read by one access.
// A first pass over the images makes sums and a second one results, from the last rows to the first: what the first
// pass read at its end is still in the cache.
#pragma once

#include "ridgeline/device/cuda/kernels/rows_of_channels.h"

namespace ridgeline::cuda {

enum class Gate : u32 { none, of_x, of_y };

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

// The rows of a thread in the second pass.
RIDGELINE_DEVICE ThreadRows rows_from_the_end(const RowTiles& t, u32 tile, u32 block, int thread) {
  return t.in_chunk(tile, t.chunks - 1 - block, thread);
}

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
      const ThreadRows rows = rows_from_the_end(t, block.x(), block.y(), thread);
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

// What the gradient reads beside x and dy: what its parameters tell, or as compiled.
enum class GateForm : u32 { told, open, of_x, of_y, added, added_of_x, added_of_y };

// g = dy [+ addend], 0 where the gate is closed.
template <class T, int V, GateForm kForm>
struct GatedGradient {
  const T *x, *dy;
  const T* addend;  // null: none
  const T* y;       // of_y
  Gate gate;
  float closed_from;  // and above; NaN: without end

  static constexpr bool kTold = kForm == GateForm::told;
  static constexpr bool kAdds = kForm >= GateForm::added;
  static constexpr Gate kGate = kForm == GateForm::of_x || kForm == GateForm::added_of_x   ? Gate::of_x
                                : kForm == GateForm::of_y || kForm == GateForm::added_of_y ? Gate::of_y
                                                                                           : Gate::none;
  static constexpr int kImages = kTold ? 4 : 2 + kAdds + (kGate == Gate::of_y);
  static constexpr int kAhead = rows_ahead<T, V>(kImages);
  RIDGELINE_DEVICE bool adds() const { return kTold ? addend != nullptr : kAdds; }
  RIDGELINE_DEVICE bool gated(Gate by) const { return (kTold ? gate : kGate) == by; }

  void pointers(const RowTiles& tiles, PointerList& list) const {
    for (const T* const* image : {&x, &dy, &addend, &y}) list.reads(*image, tiles.elements());
  }

  struct Packs {
    Pack<T, V> x, dy, addend, y;
  };
  template <class Load>
  RIDGELINE_DEVICE Packs read(u32 at, const Load& load) const {
    Packs packs;
    packs.x = load(x + at);
    packs.dy = load(dy + at);
    packs.addend = adds() ? load(addend + at) : packs.x;
    packs.y = gated(Gate::of_y) ? load(y + at) : packs.x;
    return packs;
  }
  // x - mean and g.
  RIDGELINE_DEVICE void take(const Packs& packs, const float (&mean)[V], const float (&scale)[V],
                             const float (&beta)[V], float (&d)[V], float (&g)[V]) const {
    widen(packs.x, d);
    widen(packs.dy, g);
    RIDGELINE_UNROLL
    for (int v = 0; v < V; ++v) d[v] = d[v] - mean[v];
    if (adds()) {
      float more[V];
      widen(packs.addend, more);
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) g[v] += more[v];
    }
    if (gated(Gate::of_y)) {
      float of[V];
      widen(packs.y, of);
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) g[v] = of[v] <= 0 || of[v] >= closed_from ? 0.0f : g[v];
    } else if (gated(Gate::of_x)) {
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) {
        const float of = d[v] * scale[v] + beta[v];
        g[v] = of <= 0 || of >= closed_from ? 0.0f : g[v];
      }
    }
  }
};

// partial[chunk] = sums of g and of g * (x - mean); also g if it is a result.
template <class T, int V, GateForm kForm>
struct NormGradientSums {
  using Gradient = GatedGradient<T, V, kForm>;
  struct Parameters {
    Gradient gradient;
    const float *mean, *inv_std, *gamma;
    const float* beta;  // of_x
    T* g;               // null: no result
    float* partial;
    RowTiles tiles;
  };
  using Shared = RowSumsShared<2, V>;
  static constexpr int kThreads = kRowThreads;
  static constexpr int kBlocksAtOnce = kBlocksOfOneWave;
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
      const ThreadRows rows = t.spread(block.x(), block.y(), thread);
      Registers& r = registers[thread];
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) r.sums[0][v] = r.sums[1][v] = 0;
      if (rows.count == 0) return;
      float mean[V], scale[V], beta[V];
      load_channels(p.mean + rows.channel, mean);
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) scale[v] = beta[v] = 0;
      if (p.gradient.gated(Gate::of_x)) {
        float inv_std[V];
        load_channels(p.gamma + rows.channel, scale);
        load_channels(p.inv_std + rows.channel, inv_std);
        load_channels(p.beta + rows.channel, beta);
        RIDGELINE_UNROLL
        for (int v = 0; v < V; ++v) scale[v] = scale[v] * inv_std[v];
      }
      over_rows<Gradient::kAhead>(
          t, rows, [&](u32, u32 at) { return p.gradient.read(at, [](const T* from) { return load_pack<V>(from); }); },
          [&](u32, u32 at, const typename Gradient::Packs& packs) {
            float d[V], g[V];
            p.gradient.take(packs, mean, scale, beta, d, g);
            if (p.g != nullptr) {
              const Pack<T, V> stored = narrow<T>(g);
              store_pack(stored, p.g + at);
              widen(stored, g);  // what NormGradient reads
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
template <class T, int V, GateForm kForm>
struct NormGradient {
  using Gradient = GatedGradient<T, V, kForm>;
  struct Parameters {
    Gradient gradient;
    const float *mean, *outer, *constant, *slope;
    const float* beta;  // of_x
    T* dx;
    RowTiles tiles;
  };
  using Shared = Nothing;
  static constexpr int kThreads = kRowThreads;
  static constexpr int kBlocksAtOnce = kBlocksOfOneWave;
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
      const ThreadRows rows = rows_from_the_end(t, block.x(), block.y(), thread);
      if (rows.count == 0) return;
      float mean[V], outer[V], constant[V], slope[V], beta[V];
      load_channels(p.mean + rows.channel, mean);
      load_channels(p.outer + rows.channel, outer);
      load_channels(p.constant + rows.channel, constant);
      load_channels(p.slope + rows.channel, slope);
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) beta[v] = 0;
      if (p.gradient.gated(Gate::of_x)) load_channels(p.beta + rows.channel, beta);
      over_rows<Gradient::kAhead>(
          t, rows,
          [&](u32, u32 at) { return p.gradient.read(at, [](const T* from) { return load_pack_last<V>(from); }); },
          [&](u32, u32 at, const typename Gradient::Packs& packs) {
            float d[V], g[V];
            p.gradient.take(packs, mean, outer, beta, d, g);
            RIDGELINE_UNROLL
            for (int v = 0; v < V; ++v) g[v] = outer[v] * (g[v] - constant[v] - d[v] * slope[v]);
            store(g, p.dx + at);
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
