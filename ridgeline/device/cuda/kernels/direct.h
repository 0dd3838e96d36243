// ridgeline/device/cuda/kernels/direct.h
//
// Convolutions over NHWC and matrix products in the simplest way, one thread for each output element: correct for every
// shape, slow, for what the libraries refuse. Any strides, padding, dilation and groups; bias, addend, relu and gate in
// place. Sums in f32 in the order of the weights; a weight's gradient sums over the pixels by a tree in double. T is
// the operands' type, To the results'.
#pragma once

#include "ridgeline/device/cuda/kernels/pointers.h"

namespace ridgeline::cuda {

struct ConvolutionShape {
  i32 n = 0, h = 0, w = 0, c = 0;
  i32 oh = 0, ow = 0, k = 0;
  i32 r = 1, s = 1;  // height and width of the kernel
  i32 stride_h = 1, stride_w = 1, top = 0, left = 0, dilation_h = 1, dilation_w = 1;
  i32 groups = 1;

  i64 image() const { return static_cast<i64>(n) * h * w * c; }
  i64 result() const { return static_cast<i64>(n) * oh * ow * k; }
  i64 weights() const { return static_cast<i64>(k) * r * s * (c / groups); }
};

// A bias of T or f32; null: none.
template <class T>
struct Bias {
  const T* narrow = nullptr;
  const float* wide = nullptr;

  void pointers(i64 elements, PointerList& list) const {
    list.reads(narrow, elements);
    list.reads(wide, elements);
  }
  RIDGELINE_DEVICE bool any() const { return narrow != nullptr || wide != nullptr; }
  RIDGELINE_DEVICE float at(i64 i) const {
    if (wide != nullptr) return wide[i];
    return narrow != nullptr ? load_one(narrow + i) : 0.0f;
  }
};

template <class T, class To>
struct DirectConvolution {
  struct Parameters {
    const T *x, *w;
    Bias<T> bias;
    const To* addend;  // null: none
    To* y;
    bool relu;
    ConvolutionShape s;
    Divisor channels, columns, rows;  // of the result
    i64 elements;
  };
  using Shared = Nothing;
  static constexpr int kThreads = 256;
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(divided_up(p.elements, kThreads))}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.s.image());
    list.reads(p.w, p.s.weights());
    p.bias.pointers(p.s.k, list);
    list.reads(p.addend, p.elements);
    list.writes(p.y, p.elements);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    block.each_thread([&](int thread) {
      const i64 at = static_cast<i64>(block.x()) * kThreads + thread;
      if (at >= p.elements) return;
      const ConvolutionShape& s = p.s;
      u32 rest = static_cast<u32>(at);
      const i32 k = static_cast<i32>(p.channels.split(rest));
      const i32 column = static_cast<i32>(p.columns.split(rest)) * s.stride_w - s.left;
      const i32 row = static_cast<i32>(p.rows.split(rest)) * s.stride_h - s.top;
      const i32 run = s.c / s.groups;
      const T* const image = p.x + static_cast<i64>(rest) * s.h * s.w * s.c + k / (s.k / s.groups) * run;
      float sum = 0;
      RIDGELINE_NO_UNROLL
      for (i32 r = 0; r < s.r; ++r) {
        const i32 i = row + r * s.dilation_h;
        if (i < 0 || i >= s.h) continue;
        RIDGELINE_NO_UNROLL
        for (i32 q = 0; q < s.s; ++q) {
          const i32 j = column + q * s.dilation_w;
          if (j < 0 || j >= s.w) continue;
          const T* const x = image + (static_cast<i64>(i) * s.w + j) * s.c;
          const T* const w = p.w + ((static_cast<i64>(k) * s.r + r) * s.s + q) * run;
          for (i32 c = 0; c < run; ++c) sum = fused(load_one(x + c), load_one(w + c), sum);
        }
      }
      sum += p.bias.at(k);
      if (p.addend != nullptr) sum += load_one(p.addend + at);
      store_one(p.relu ? larger(sum, 0.0f) : sum, p.y + at);
    });
  }
};

// dx, 0 where the gate is at most 0.
template <class T, class To>
struct DirectDataGradient {
  struct Parameters {
    const T *dy, *w;
    const To* gate;  // null: none
    To* dx;
    ConvolutionShape s;
    Divisor channels, columns, rows;  // of the image
    i64 elements;
  };
  using Shared = Nothing;
  static constexpr int kThreads = 256;
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(divided_up(p.elements, kThreads))}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.dy, p.s.result());
    list.reads(p.w, p.s.weights());
    list.reads(p.gate, p.elements);
    list.writes(p.dx, p.elements);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    block.each_thread([&](int thread) {
      const i64 at = static_cast<i64>(block.x()) * kThreads + thread;
      if (at >= p.elements) return;
      const ConvolutionShape& s = p.s;
      u32 rest = static_cast<u32>(at);
      const i32 c = static_cast<i32>(p.channels.split(rest));
      const i32 j = static_cast<i32>(p.columns.split(rest)) + s.left;
      const i32 i = static_cast<i32>(p.rows.split(rest)) + s.top;
      const i32 run = s.c / s.groups, filters = s.k / s.groups;
      const i32 first = c / run * filters;
      float sum = 0;
      RIDGELINE_NO_UNROLL
      for (i32 r = 0; r < s.r; ++r) {
        const i32 row = i - r * s.dilation_h;
        if (row < 0 || row % s.stride_h != 0 || row / s.stride_h >= s.oh) continue;
        RIDGELINE_NO_UNROLL
        for (i32 q = 0; q < s.s; ++q) {
          const i32 column = j - q * s.dilation_w;
          if (column < 0 || column % s.stride_w != 0 || column / s.stride_w >= s.ow) continue;
          const T* const dy =
              p.dy + ((static_cast<i64>(rest) * s.oh + row / s.stride_h) * s.ow + column / s.stride_w) * s.k + first;
          const i64 step = static_cast<i64>(s.r) * s.s * run;
          const T* const w = p.w + ((static_cast<i64>(first) * s.r + r) * s.s + q) * run + c % run;
          RIDGELINE_NO_UNROLL
          for (i32 k = 0; k < filters; ++k) sum = fused(load_one(dy + k), load_one(w + k * step), sum);
        }
      }
      const bool open = p.gate == nullptr || !(load_one(p.gate + at) <= 0);
      store_one(open ? sum : 0.0f, p.dx + at);
    });
  }
};

// A block computes one weight's gradient.
template <class T, class To>
struct DirectWeightGradient {
  struct Parameters {
    const T *x, *dy;
    To* dw;
    ConvolutionShape s;
    Divisor columns, rows;  // of the result
  };
  struct Shared {
    double sums[256];
  };
  static constexpr int kThreads = 256;
  static Blocks blocks(const Parameters& p) {
    return {static_cast<u32>(p.s.r * p.s.s * (p.s.c / p.s.groups)), static_cast<u32>(p.s.k)};
  }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.s.image());
    list.reads(p.dy, p.s.result());
    list.writes(p.dw, p.s.weights());
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    const ConvolutionShape& s = p.s;
    const i32 run = s.c / s.groups, tap = static_cast<i32>(block.x());
    const i32 c = tap % run, q = tap / run % s.s, r = tap / run / s.s;
    const i32 k = static_cast<i32>(block.y());
    const i64 pixels = static_cast<i64>(s.n) * s.oh * s.ow;
    block.each_thread([&](int thread) {
      double sum = 0;
      for (i64 pixel = thread; pixel < pixels; pixel += kThreads) {
        u32 rest = static_cast<u32>(pixel);
        const i32 j = static_cast<i32>(p.columns.split(rest)) * s.stride_w - s.left + q * s.dilation_w;
        const i32 i = static_cast<i32>(p.rows.split(rest)) * s.stride_h - s.top + r * s.dilation_h;
        if (i < 0 || i >= s.h || j < 0 || j >= s.w) continue;
        const T* const x = p.x + ((static_cast<i64>(rest) * s.h + i) * s.w + j) * s.c + k / (s.k / s.groups) * run + c;
        sum += static_cast<double>(load_one(x)) * static_cast<double>(load_one(p.dy + pixel * s.k + k));
      }
      shared.sums[thread] = sum;
    });
    tree<kThreads>(block, kThreads, 1, [&](int i, int j) { shared.sums[i] += shared.sums[j]; });
    block.each_thread([&](int thread) {
      if (thread == 0)
        store_one(static_cast<float>(shared.sums[0]), p.dw + static_cast<i64>(k) * s.r * s.s * run + tap);
    });
  }
};

// y[i][j] = sum over l of a[i, l] * b[l, j], each with its strides; bias[j], addend, relu. For many matrices, whose
// operands are at constant distances along the axes of a batch.
template <class T, class To>
struct DirectProduct {
  static constexpr int kAxes = 4;
  struct Parameters {
    const T *a, *b;
    Bias<T> bias;
    const To* addend;
    To* y;
    bool relu;
    i64 a_row, a_column, b_row, b_column;
    i64 elements, inner;
    Divisor columns, rows;
    Divisor batch[kAxes];  // the innermost first
    i64 a_step[kAxes], b_step[kAxes];
  };
  using Shared = Nothing;
  static constexpr int kThreads = 256;
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(divided_up(p.elements, kThreads))}; }
  static void pointers(const Parameters& p, PointerList& list) {
    const i64 columns = p.columns.value, rows = p.rows.value;
    i64 a = (rows - 1) * p.a_row + (p.inner - 1) * p.a_column + 1;
    i64 b = (p.inner - 1) * p.b_row + (columns - 1) * p.b_column + 1;
    for (int axis = 0; axis < kAxes; ++axis) {
      a += (p.batch[axis].value - i64{1}) * p.a_step[axis];
      b += (p.batch[axis].value - i64{1}) * p.b_step[axis];
    }
    list.reads(p.a, p.inner == 0 ? 0 : a);
    list.reads(p.b, p.inner == 0 ? 0 : b);
    p.bias.pointers(columns, list);
    list.reads(p.addend, p.elements);
    list.writes(p.y, p.elements);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    block.each_thread([&](int thread) {
      const i64 at = static_cast<i64>(block.x()) * kThreads + thread;
      if (at >= p.elements) return;
      u32 matrix = static_cast<u32>(at);
      const i64 column = p.columns.split(matrix), row = p.rows.split(matrix);
      const T* a = p.a + row * p.a_row;
      const T* b = p.b + column * p.b_column;
      RIDGELINE_UNROLL
      for (int axis = 0; axis < kAxes; ++axis) {
        const i64 index = p.batch[axis].split(matrix);
        a += index * p.a_step[axis];
        b += index * p.b_step[axis];
      }
      float sum = 0;
      for (i64 l = 0; l < p.inner; ++l) sum = fused(load_one(a + l * p.a_column), load_one(b + l * p.b_row), sum);
      sum += p.bias.at(column);
      if (p.addend != nullptr) sum += load_one(p.addend + at);
      store_one(p.relu ? larger(sum, 0.0f) : sum, p.y + at);
    });
  }
};

#define RIDGELINE_DIRECT_KERNELS(K)                                         \
  K(direct_convolution_f32, DirectConvolution<float, float>)                \
  K(direct_convolution_bf16, DirectConvolution<bfloat16, bfloat16>)         \
  K(direct_convolution_f16, DirectConvolution<float16, float16>)            \
  K(direct_convolution_bf16_f32, DirectConvolution<bfloat16, float>)        \
  K(direct_convolution_f16_f32, DirectConvolution<float16, float>)          \
  K(direct_data_gradient_f32, DirectDataGradient<float, float>)             \
  K(direct_data_gradient_bf16, DirectDataGradient<bfloat16, bfloat16>)      \
  K(direct_data_gradient_f16, DirectDataGradient<float16, float16>)         \
  K(direct_data_gradient_bf16_f32, DirectDataGradient<bfloat16, float>)     \
  K(direct_data_gradient_f16_f32, DirectDataGradient<float16, float>)       \
  K(direct_weight_gradient_f32, DirectWeightGradient<float, float>)         \
  K(direct_weight_gradient_bf16, DirectWeightGradient<bfloat16, bfloat16>)  \
  K(direct_weight_gradient_f16, DirectWeightGradient<float16, float16>)     \
  K(direct_weight_gradient_bf16_f32, DirectWeightGradient<bfloat16, float>) \
  K(direct_weight_gradient_f16_f32, DirectWeightGradient<float16, float>)   \
  K(direct_product_f32, DirectProduct<float, float>)                        \
  K(direct_product_bf16, DirectProduct<bfloat16, bfloat16>)                 \
  K(direct_product_f16, DirectProduct<float16, float16>)                    \
  K(direct_product_bf16_f32, DirectProduct<bfloat16, float>)                \
  K(direct_product_f16_f32, DirectProduct<float16, float>)

}  // namespace ridgeline::cuda
