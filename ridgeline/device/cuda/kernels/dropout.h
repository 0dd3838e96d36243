// ridgeline/device/cuda/kernels/dropout.h
//
// y = u < keep ? x / keep : 0 with u uniform by (key, step, element): with the CPU's masks and bits. Applied to dy, it
// is its own gradient. A thread has four elements, one Philox block.
#pragma once

#include "ridgeline/device/cuda/kernels/pointers.h"

namespace ridgeline::cuda {

template <class T>
struct Dropout {
  struct Parameters {
    const T* x;
    T* y;
    const i64* step;
    u64 key;
    float keep;
    i64 elements;
    bool wide;
  };
  using Shared = Nothing;
  static constexpr int kThreads = 256;
  static constexpr int kEach = 4;
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(divided_up(p.elements, kThreads * kEach))}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.elements);
    list.reads(p.step, 1);
    list.writes(p.y, p.elements);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    block.each_thread([&](int thread) {
      const i64 group = static_cast<i64>(block.x()) * kThreads + thread;
      const i64 first = group * kEach;
      if (first >= p.elements) return;
      const Words words = philox(p.key, static_cast<u64>(*p.step), static_cast<u64>(group));
      if (p.wide && first + kEach <= p.elements) {
        float x[kEach];
        load(p.x + first, x);
        RIDGELINE_UNROLL
        for (int i = 0; i < kEach; ++i) x[i] = uniform_of(words.w[i]) < p.keep ? x[i] / p.keep : 0.0f;
        store(x, p.y + first);
        return;
      }
      RIDGELINE_UNROLL
      for (int i = 0; i < kEach; ++i) {
        if (first + i >= p.elements) return;
        const float x = load_one(p.x + first + i);
        store_one(uniform_of(words.w[i]) < p.keep ? x / p.keep : 0.0f, p.y + first + i);
      }
    });
  }
};

#define RIDGELINE_DROPOUT_KERNELS(K) \
  K(dropout_f32, Dropout<float>)     \
  K(dropout_bf16, Dropout<bfloat16>) \
  K(dropout_f16, Dropout<float16>)

}  // namespace ridgeline::cuda
