// ridgeline/device/cuda/kernels/rank_sums.h
//
// The values of several ranks, combined in the order of comm/reduce.h: pairs of ranks, then pairs of pairs, in f32, the
// result rounded once. So an exchange from card to card has the bits of one on the host.
#pragma once

#include "ridgeline/device/cuda/kernels/pointers.h"

namespace ridgeline::cuda {

// result[i] = factor * the sum over the ranks' i-th values. Those of the own rank lie at `own`, those of the others one
// behind the other, `stride` elements apart.
template <class T>
struct RankSums {
  static constexpr int kLevels = 8;
  static constexpr i32 kMostRanks = (1 << kLevels) - 1;

  struct Parameters {
    const T* own;
    const T* others;
    T* result;  // may be `own`
    i64 elements, stride;
    i32 ranks, rank;
    float factor;
    bool wide;  // 16-byte accesses are possible
  };
  using Shared = Nothing;
  static constexpr int kThreads = 256;
  static constexpr int kEach = kWide<T>;  // neighbouring elements of a thread
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(divided_up(p.elements, kThreads * kEach))}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.own, p.elements);
    list.reads(p.others, (p.ranks - 2) * p.stride + p.elements);
    list.writes(p.result, p.elements);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    block.each_thread([&](int thread) {
      const i64 first = (static_cast<i64>(block.x()) * kThreads + thread) * kEach;
      if (p.wide && first + kEach <= p.elements) {
        combine<kEach>(p, first);
        return;
      }
      for (i64 i = first; i < p.elements && i < first + kEach; ++i) combine<1>(p, i);
    });
  }

 private:
  // Ranks are taken as a binary counter takes ones: two of a level make one of the next. What is held at the end are
  // the ones of their number; the smallest pairs are the right ends.
  template <int V>
  static RIDGELINE_DEVICE void combine(const Parameters& p, i64 at) {
    float held[kLevels][V], value[V] = {};
    RIDGELINE_UNROLL
    for (int level = 0; level < kLevels; ++level) {
      RIDGELINE_UNROLL
      for (int i = 0; i < V; ++i) held[level][i] = 0;
    }
    for (i32 rank = 0; rank < p.ranks; ++rank) {
      const T* const from = rank == p.rank ? p.own : p.others + (rank < p.rank ? rank : rank - 1) * p.stride;
      load(from + at, value);
      bool carries = true;  // no `break`: each level's values stay in registers of their own
      RIDGELINE_UNROLL
      for (int level = 0; level < kLevels; ++level) {
        if (carries) {
          carries = ((rank >> level) & 1) != 0;
          RIDGELINE_UNROLL
          for (int i = 0; i < V; ++i) {
            const float sum = held[level][i] + value[i];
            if (!carries) held[level][i] = value[i];
            value[i] = sum;
          }
        }
      }
    }
    bool first = true;
    RIDGELINE_UNROLL
    for (int level = 0; level < kLevels; ++level) {
      if (((p.ranks >> level) & 1) == 0) continue;
      RIDGELINE_UNROLL
      for (int i = 0; i < V; ++i) value[i] = first ? held[level][i] : held[level][i] + value[i];
      first = false;
    }
    RIDGELINE_UNROLL
    for (int i = 0; i < V; ++i) value[i] *= p.factor;
    store(value, p.result + at);
  }
};

#define RIDGELINE_RANK_SUMS_KERNELS(K)  \
  K(rank_sums_f32, RankSums<float>)     \
  K(rank_sums_bf16, RankSums<bfloat16>) \
  K(rank_sums_f16, RankSums<float16>)

}  // namespace ridgeline::cuda
