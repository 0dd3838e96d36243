// ridgeline/device/cuda/kernels/batch_norm_gradient.h
//
// The gradient of batch norm (batch_norm.h), with the relu's gate: two passes, the first of which may also give the
// gated gradient, which the second one then reads.
#pragma once

#include "ridgeline/device/cuda/kernels/rows_of_channels.h"

namespace ridgeline::cuda {

enum class Gate : u32 { none, of_x, of_y };

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
      const ThreadRows rows = t.from_the_end(block.x(), block.y(), thread);
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

}  // namespace ridgeline::cuda
