// ridgeline/device/cuda/kernels/reduce.h
//
// Sums, means and maxima over neighbouring axes: x as [outer, reduced, inner], y [outer, inner]. If `outer` and `inner`
// are both one, chunks of x are summed first (the same kernel twice). Other axes are reduced group by group. Sums are
// in double by a tree, also between kernels; a NaN wins a maximum.
#pragma once

#include "ridgeline/device/cuda/kernels/pointers.h"

namespace ridgeline::cuda {

// A block's threads cover the reduced axis and, if `inner` is more than one, neighbouring elements of it.
template <class From, class To, bool kMaximum>
struct Reduce {
  using Real = double;
  struct Parameters {
    const From* x;
    To* y;
    i64 outer, reduced, inner;
    i64 chunk;  // how much of the reduced axis a block takes; y is then [outer, chunks, inner]
    double factor;
    i32 columns;    // neighbouring threads along inner, a power of two up to 32
    Divisor tiles;  // of inner, `columns` each
  };
  struct Shared {
    double sums[256];
  };
  static constexpr int kThreads = 256;
  static Blocks blocks(const Parameters& p) {
    return {static_cast<u32>(p.outer * p.tiles.value), static_cast<u32>(divided_up(p.reduced, p.chunk))};
  }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.outer * p.reduced * p.inner);
    list.writes(p.y, p.outer * divided_up(p.reduced, p.chunk) * p.inner);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    u32 outer = block.x();
    const i64 first = static_cast<i64>(p.tiles.split(outer)) * p.columns;
    const i64 begin = block.y() * p.chunk;
    const i64 end = begin + p.chunk < p.reduced ? begin + p.chunk : p.reduced;
    block.each_thread([&](int thread) {
      const i64 column = first + thread % p.columns;
      Real value = kMaximum ? -double_of(0x7ff0000000000000ull) : 0.0;
      if (column < p.inner) {
        const From* const x = p.x + outer * p.reduced * p.inner + column;
        for (i64 i = begin + thread / p.columns; i < end; i += kThreads / p.columns) {
          const Real v = static_cast<Real>(read(x + i * p.inner));
          value = kMaximum ? larger(v, value) : value + v;
        }
      }
      shared.sums[thread] = value;
    });
    tree<kThreads>(block, kThreads / p.columns, p.columns, [&](int i, int j) {
      shared.sums[i] = kMaximum ? larger(shared.sums[i], shared.sums[j]) : shared.sums[i] + shared.sums[j];
    });
    block.each_thread([&](int thread) {
      const i64 column = first + thread;
      if (thread >= p.columns || column >= p.inner) return;
      const i64 chunks = divided_up(p.reduced, p.chunk);
      write(shared.sums[thread] * p.factor, p.y + (outer * chunks + block.y()) * p.inner + column);
    });
  }

 private:
  static RIDGELINE_DEVICE double read(const double* x) { return *x; }
  template <class T>
  static RIDGELINE_DEVICE float read(const T* x) {
    return load_one(x);
  }
  static RIDGELINE_DEVICE void write(double v, double* y) { *y = v; }
  template <class T>
  static RIDGELINE_DEVICE void write(double v, T* y) {
    store_one(static_cast<float>(v), y);
  }
};

#define RIDGELINE_REDUCE_KERNELS(K)                  \
  K(sum_f32, Reduce<float, float, false>)            \
  K(sum_bf16, Reduce<bfloat16, bfloat16, false>)     \
  K(sum_f16, Reduce<float16, float16, false>)        \
  K(sum_f32_parts, Reduce<float, double, false>)     \
  K(sum_bf16_parts, Reduce<bfloat16, double, false>) \
  K(sum_f16_parts, Reduce<float16, double, false>)   \
  K(sum_parts, Reduce<double, double, false>)        \
  K(sum_parts_f32, Reduce<double, float, false>)     \
  K(sum_parts_bf16, Reduce<double, bfloat16, false>) \
  K(sum_parts_f16, Reduce<double, float16, false>)   \
  K(maximum_f32, Reduce<float, float, true>)         \
  K(maximum_bf16, Reduce<bfloat16, bfloat16, true>)  \
  K(maximum_f16, Reduce<float16, float16, true>)

}  // namespace ridgeline::cuda
