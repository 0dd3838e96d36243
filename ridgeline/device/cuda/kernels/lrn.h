// ridgeline/device/cuda/kernels/lrn.h
//
// Local response normalisation across channels, y = x * s^-beta with s = bias + share * sum of x^2 over `reach`
// channels on either side, and its gradient. Elements are indexed flat: a neighbour counts if it is a channel of the
// same pixel.
#pragma once

#include "ridgeline/device/cuda/kernels/pointers.h"

namespace ridgeline::cuda {

struct LrnShape {
  i64 elements;
  Divisor channels;
  i32 reach;
  float bias, share, beta;
};

// s^-beta; for beta = 3/4 by two roots.
RIDGELINE_DEVICE float inverse_power(float s, float beta) {
  if (beta == 0.75f) {
    const float r = root(s);
    return 1.0f / (r * root(r));
  }
  return exp_of(negated(beta) * log_of(s));
}

// bias + share * the sum of squares around element i.
template <class T>
RIDGELINE_DEVICE float lrn_sum(const T* x, i64 i, const LrnShape& s) {
  u32 pixel = static_cast<u32>(i);
  const i32 channel = static_cast<i32>(s.channels.split(pixel));
  const i32 channels = static_cast<i32>(s.channels.value);
  const i32 first = channel < s.reach ? -channel : -s.reach;
  const i32 last = channel + s.reach < channels ? s.reach : channels - 1 - channel;
  float sum = 0;
  for (i32 d = first; d <= last; ++d) {
    const float v = load_one(x + i + d);
    sum += v * v;
  }
  return fused(sum, s.share, s.bias);
}

template <class T>
struct Lrn {
  struct Parameters {
    const T* x;
    T* y;
    LrnShape s;
  };
  using Shared = Nothing;
  static constexpr int kThreads = 256;
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(divided_up(p.s.elements, kThreads))}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.s.elements);
    list.writes(p.y, p.s.elements);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    block.each_thread([&](int thread) {
      const i64 i = static_cast<i64>(block.x()) * kThreads + thread;
      if (i >= p.s.elements) return;
      store_one(load_one(p.x + i) * inverse_power(lrn_sum(p.x, i, p.s), p.s.beta), p.y + i);
    });
  }
};

// dx = dy * s^-beta - 2*beta*share * x * sum over the window of dy * x * s^(-beta-1). The products of a block's
// elements, and of `reach` more on either side, are in shared memory.
template <class T>
struct LrnGradient {
  struct Parameters {
    const T *x, *dy;
    T* dx;
    LrnShape s;
  };
  static constexpr int kThreads = 256;
  static constexpr int kMaxReach = 16;
  struct Shared {
    float products[kThreads];
  };
  static i64 inner(const Parameters& p) { return kThreads - 2 * p.s.reach; }
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(divided_up(p.s.elements, inner(p)))}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.s.elements);
    list.reads(p.dy, p.s.elements);
    list.writes(p.dx, p.s.elements);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    const LrnShape& s = p.s;
    const i64 base = static_cast<i64>(block.x()) * (kThreads - 2 * s.reach) - s.reach;
    typename Block::template PerThread<float> scale;
    block.each_thread([&](int thread) {
      const i64 i = base + thread;
      float product = 0;
      scale[thread] = 0;
      if (i >= 0 && i < s.elements) {
        const float sum = lrn_sum(p.x, i, s);
        scale[thread] = inverse_power(sum, s.beta);
        product = load_one(p.dy + i) * load_one(p.x + i) * (scale[thread] / sum);
      }
      shared.products[thread] = product;
    });
    block.each_thread([&](int thread) {
      const i64 i = base + thread;
      if (thread < s.reach || thread >= kThreads - s.reach || i >= s.elements) return;
      u32 pixel = static_cast<u32>(i);
      const i32 channel = static_cast<i32>(s.channels.split(pixel));
      const i32 channels = static_cast<i32>(s.channels.value);
      const i32 first = channel < s.reach ? -channel : -s.reach;
      const i32 last = channel + s.reach < channels ? s.reach : channels - 1 - channel;
      float sum = 0;
      for (i32 d = first; d <= last; ++d) sum += shared.products[thread + d];
      const float slope = 2 * s.beta * s.share;
      store_one(load_one(p.dy + i) * scale[thread] - slope * load_one(p.x + i) * sum, p.dx + i);
    });
  }
};

#define RIDGELINE_LRN_KERNELS(K)              \
  K(lrn_f32, Lrn<float>)                      \
  K(lrn_bf16, Lrn<bfloat16>)                  \
  K(lrn_f16, Lrn<float16>)                    \
  K(lrn_gradient_f32, LrnGradient<float>)     \
  K(lrn_gradient_bf16, LrnGradient<bfloat16>) \
  K(lrn_gradient_f16, LrnGradient<float16>)

}  // namespace ridgeline::cuda
