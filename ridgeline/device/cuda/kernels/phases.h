// ridgeline/device/cuda/kernels/phases.h
//
// The blocks in whose phases a kernel's body runs (block.h): on a card, and on the CPU. Texts that are compiled at run
// time contain this file (loop/text.h), so it includes nothing but numbers.h.
#pragma once

#include "ridgeline/device/cuda/kernels/numbers.h"

namespace ridgeline::cuda {

// The grid of a launch.
struct Blocks {
  u32 x = 1, y = 1, z = 1;
};

struct Nothing {};

#if defined(__CUDACC__)
// The block of the calling thread.
class CardBlock {
 public:
  template <class T>
  struct PerThread {
    T value;
    RIDGELINE_DEVICE T& operator[](int) { return value; }
  };
#if RIDGELINE_ON_CARD
  RIDGELINE_DEVICE u32 x() const { return blockIdx.x; }
  RIDGELINE_DEVICE u32 y() const { return blockIdx.y; }
  RIDGELINE_DEVICE u32 z() const { return blockIdx.z; }
  template <class F>
  RIDGELINE_DEVICE void each_thread(const F& f) {
    f(static_cast<int>(threadIdx.x));
    __syncthreads();
  }
#else  // nvcc's host pass
  u32 x() const { return 0; }
  u32 y() const { return 0; }
  u32 z() const { return 0; }
  template <class F>
  RIDGELINE_DEVICE void each_thread(const F&) {}
#endif
};
#endif

#if !defined(__CUDACC_RTC__)
// A block on the CPU, thread after thread.
template <int kThreads>
class HostBlock {
 public:
  template <class T>
  struct PerThread {
    T values[kThreads];
    T& operator[](int thread) { return values[thread]; }
  };
  HostBlock(u32 x, u32 y, u32 z) : x_(x), y_(y), z_(z) {}
  u32 x() const { return x_; }
  u32 y() const { return y_; }
  u32 z() const { return z_; }
  template <class F>
  void each_thread(const F& f) {
    for (int thread = 0; thread < kThreads; ++thread) f(thread);
  }

 private:
  u32 x_, y_, z_;
};
#endif

// A fixed tree over `rows` rows of `width` values each: add(i, j) adds value j to value i; both indices are
// row*width + column. The sums end in row 0.
template <int kThreads, class Block, class Add>
RIDGELINE_DEVICE void tree(Block& block, int rows, int width, const Add& add) {
  while (rows > 1) {
    const int kept = (rows + 1) / 2, added = rows - kept;
    block.each_thread([&](int thread) {
      RIDGELINE_NO_UNROLL
      for (int i = thread; i < added * width; i += kThreads) add(i, i + kept * width);
    });
    rows = kept;
  }
}

}  // namespace ridgeline::cuda
