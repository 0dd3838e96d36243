// ridgeline/device/cuda/kernels/update.h
//
// Updates of all parameters in one launch, SGD with and without momentum, with the CPU's rounding; other optimizers are
// loops (loop/). Optionally also a 16-bit copy of each new weight, and the sum of squares of the old weights, for an L2
// penalty. A block takes one chunk of one parameter. Also, separately, sums of squares and "all finite" over many
// tensors, for clipping by the global norm and loss scales.
#pragma once

#include "ridgeline/device/cuda/kernels/pointers.h"

namespace ridgeline::cuda {

inline constexpr int kUpdateThreads = 256;
inline constexpr int kUpdateEach = 16;  // elements of a thread, four at a time
inline constexpr i64 kUpdateChunk = kUpdateThreads * kUpdateEach;
inline constexpr int kUpdateTensors = 64;  // of a launch

// Which chunk of which tensor a block has: chunks are numbered over all tensors.
struct Chunking {
  u32 tensors;
  u32 first[kUpdateTensors + 1];  // first chunk of each tensor; after the last, the number of all
  i64 elements[kUpdateTensors];

  RIDGELINE_DEVICE u32 tensor_of(u32 chunk) const {
    u32 low = 0, high = tensors;  // first[low] <= chunk < first[high]
    while (high - low > 1) {
      const u32 middle = (low + high) / 2;
      if (first[middle] <= chunk)
        low = middle;
      else
        high = middle;
    }
    return low;
  }
};

// The sum of a block's per-thread doubles, by a tree.
struct DoublesShared {
  double sums[kUpdateThreads];
};

// Low is the type of the copies.
template <class Low>
struct Momentum {
  struct Parameters {
    const float* rate;  // a scalar in the card's memory
    const bool* apply;  // null: always
    float momentum;     // of the old step
    float decay;        // weight decay
    bool has_momentum, has_decay, nesterov;
    bool wide;        // 16-byte accesses are possible
    double* squares;  // null, or one sum per block
    Chunking chunks;
    const float* w[kUpdateTensors];
    const float* m[kUpdateTensors];
    const float* g[kUpdateTensors];
    float* new_w[kUpdateTensors];
    float* new_m[kUpdateTensors];
    Low* copy[kUpdateTensors];  // null: none
  };
  using Shared = DoublesShared;
  static constexpr int kThreads = kUpdateThreads;
  static Blocks blocks(const Parameters& p) { return {p.chunks.first[p.chunks.tensors]}; }

  // One element. Products and sums are rounded each by itself, as in the loop interpreter.
  static RIDGELINE_DEVICE void next(const Parameters& p, float rate, bool apply, float g, float& w, float& m) {
    const float step = p.has_decay ? p.decay * w + g : g;
    float moved = step;
    float kept = m;
    if (p.has_momentum) {
      kept = p.momentum * m + step;
      moved = p.nesterov ? p.momentum * kept + step : kept;
    }
    const float new_w = w - rate * moved;
    w = apply ? new_w : w;
    m = apply ? kept : m;
  }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.rate, 1);
    list.reads(p.apply, 1);
    list.writes(p.squares, p.chunks.first[p.chunks.tensors]);
    for (u32 i = 0; i < p.chunks.tensors; ++i) {
      const i64 elements = p.chunks.elements[i];
      list.reads(p.w[i], elements);
      list.reads(p.m[i], elements);
      list.reads(p.g[i], elements);
      list.writes(p.new_w[i], elements);
      list.writes(p.new_m[i], elements);
      list.writes(p.copy[i], elements);
    }
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    const u32 tensor = p.chunks.tensor_of(block.x());
    const i64 elements = p.chunks.elements[tensor];
    const i64 begin = static_cast<i64>(block.x() - p.chunks.first[tensor]) * kUpdateChunk;
    const float* const w = p.w[tensor];
    const float* const m = p.m[tensor];
    const float* const g = p.g[tensor];
    float* const new_w = p.new_w[tensor];
    float* const new_m = p.new_m[tensor];
    Low* const copy = p.copy[tensor];
    block.each_thread([&](int thread) {
      const float rate = *p.rate;
      const bool apply = p.apply == nullptr || *p.apply;
      double squares = 0;
      if (p.wide && begin + kUpdateChunk <= elements) {
        float ws[kUpdateEach / 4][4], ms[kUpdateEach / 4][4], gs[kUpdateEach / 4][4];
        RIDGELINE_UNROLL
        for (int k = 0; k < kUpdateEach / 4; ++k) {
          const i64 at = begin + (k * kUpdateThreads + thread) * 4;
          load(w + at, ws[k]);
          load(g + at, gs[k]);
          if (p.has_momentum) load(m + at, ms[k]);
        }
        RIDGELINE_UNROLL
        for (int k = 0; k < kUpdateEach / 4; ++k) {
          const i64 at = begin + (k * kUpdateThreads + thread) * 4;
          if (p.squares != nullptr) squares += static_cast<double>(square_sum(ws[k]));
          RIDGELINE_UNROLL
          for (int i = 0; i < 4; ++i) {
            if (!p.has_momentum) ms[k][i] = 0;
            next(p, rate, apply, gs[k][i], ws[k][i], ms[k][i]);
          }
          store(ws[k], new_w + at);
          if (p.has_momentum) store(ms[k], new_m + at);
          if (copy != nullptr) store(ws[k], copy + at);
        }
      } else {
        for (i64 at = begin + thread; at < elements && at < begin + kUpdateChunk; at += kUpdateThreads) {
          float value = w[at];
          float momentum = p.has_momentum ? m[at] : 0;
          if (p.squares != nullptr) squares += static_cast<double>(value * value);
          next(p, rate, apply, g[at], value, momentum);
          new_w[at] = value;
          if (p.has_momentum) new_m[at] = momentum;
          if (copy != nullptr) store_one(value, copy + at);
        }
      }
      shared.sums[thread] = squares;
    });
    if (p.squares == nullptr) return;
    tree<kThreads>(block, kThreads, 1, [&](int i, int j) { shared.sums[i] += shared.sums[j]; });
    block.each_thread([&](int thread) {
      if (thread == 0) p.squares[block.x()] = shared.sums[0];
    });
  }

 private:
  static RIDGELINE_DEVICE float square_sum(const float (&x)[4]) {
    float sum = x[0] * x[0];
    RIDGELINE_UNROLL
    for (int i = 1; i < 4; ++i) sum = fused(x[i], x[i], sum);
    return sum;
  }
};

// squares[block] = the sum of squares of a chunk, in f32 by fours and in double above.
template <class T>
struct SquareSums {
  struct Parameters {
    Chunking chunks;
    const T* x[kUpdateTensors];
    double* squares;
  };
  using Shared = DoublesShared;
  static constexpr int kThreads = kUpdateThreads;
  static Blocks blocks(const Parameters& p) { return {p.chunks.first[p.chunks.tensors]}; }
  static void pointers(const Parameters& p, PointerList& list) {
    for (u32 i = 0; i < p.chunks.tensors; ++i) list.reads(p.x[i], p.chunks.elements[i]);
    list.writes(p.squares, p.chunks.first[p.chunks.tensors]);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    const u32 tensor = p.chunks.tensor_of(block.x());
    const i64 begin = static_cast<i64>(block.x() - p.chunks.first[tensor]) * kUpdateChunk;
    const i64 end = p.chunks.elements[tensor] < begin + kUpdateChunk ? p.chunks.elements[tensor] : begin + kUpdateChunk;
    block.each_thread([&](int thread) {
      double sum = 0;
      for (i64 at = begin + thread; at < end; at += kUpdateThreads) {
        const double x = static_cast<double>(load_one(p.x[tensor] + at));
        sum += x * x;
      }
      shared.sums[thread] = sum;
    });
    tree<kThreads>(block, kThreads, 1, [&](int i, int j) { shared.sums[i] += shared.sums[j]; });
    block.each_thread([&](int thread) {
      if (thread == 0) p.squares[block.x()] = shared.sums[0];
    });
  }
};

// y = the function `form` of factor * the sum of parts: one block.
struct TotalOfDoubles {
  enum class Form : u32 {
    sum,     // factor * sum
    root,    // the square root of it
    clip,    // min(1, limit / root): what gradients are scaled by so that their norm is at most `limit`
    finite,  // 1 if it is finite, else 0, as a byte
  };
  struct Parameters {
    const double* parts;
    i64 count;
    double factor, limit;
    Form form;
    float* y;
    bool* flag;  // of finite
  };
  using Shared = DoublesShared;
  static constexpr int kThreads = kUpdateThreads;
  static Blocks blocks(const Parameters&) { return {1}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.parts, p.count);
    list.writes(p.y, 1);
    list.writes(p.flag, 1);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    block.each_thread([&](int thread) {
      double sum = 0;
      for (i64 i = thread; i < p.count; i += kThreads) sum += p.parts[i];
      shared.sums[thread] = sum;
    });
    tree<kThreads>(block, kThreads, 1, [&](int i, int j) { shared.sums[i] += shared.sums[j]; });
    block.each_thread([&](int thread) {
      if (thread != 0) return;
      const double total = p.factor * shared.sums[0];
      switch (p.form) {
        case Form::sum: *p.y = static_cast<float>(total); break;
        case Form::root: *p.y = static_cast<float>(root(total)); break;
        case Form::clip: {
          const double norm = root(total);
          *p.y = norm <= p.limit ? 1.0f : static_cast<float>(p.limit / norm);  // NaN stays NaN
          break;
        }
        case Form::finite: *p.flag = total - total == 0; break;
      }
    });
  }
};

// flags[block] = 0, or NaN if an element of the chunk is not finite: their sum is finite if all elements are.
template <class T>
struct FiniteParts {
  struct Parameters {
    Chunking chunks;
    const T* x[kUpdateTensors];
    double* flags;
  };
  using Shared = DoublesShared;
  static constexpr int kThreads = kUpdateThreads;
  static Blocks blocks(const Parameters& p) { return {p.chunks.first[p.chunks.tensors]}; }
  static void pointers(const Parameters& p, PointerList& list) {
    for (u32 i = 0; i < p.chunks.tensors; ++i) list.reads(p.x[i], p.chunks.elements[i]);
    list.writes(p.flags, p.chunks.first[p.chunks.tensors]);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    const u32 tensor = p.chunks.tensor_of(block.x());
    const i64 begin = static_cast<i64>(block.x() - p.chunks.first[tensor]) * kUpdateChunk;
    const i64 end = p.chunks.elements[tensor] < begin + kUpdateChunk ? p.chunks.elements[tensor] : begin + kUpdateChunk;
    block.each_thread([&](int thread) {
      float sum = 0;  // of x - x: NaN for infinities and NaN, else 0
      for (i64 at = begin + thread; at < end; at += kUpdateThreads) {
        const float x = load_one(p.x[tensor] + at);
        sum += x - x;
      }
      shared.sums[thread] = static_cast<double>(sum);
    });
    tree<kThreads>(block, kThreads, 1, [&](int i, int j) { shared.sums[i] += shared.sums[j]; });
    block.each_thread([&](int thread) {
      if (thread == 0) p.flags[block.x()] = shared.sums[0];
    });
  }
};

#define RIDGELINE_UPDATE_KERNELS(K)           \
  K(momentum_bf16, Momentum<bfloat16>)        \
  K(momentum_f16, Momentum<float16>)          \
  K(square_sums_f32, SquareSums<float>)       \
  K(square_sums_bf16, SquareSums<bfloat16>)   \
  K(square_sums_f16, SquareSums<float16>)     \
  K(finite_parts_f32, FiniteParts<float>)     \
  K(finite_parts_bf16, FiniteParts<bfloat16>) \
  K(finite_parts_f16, FiniteParts<float16>)   \
  K(total_of_doubles, TotalOfDoubles)

}  // namespace ridgeline::cuda
