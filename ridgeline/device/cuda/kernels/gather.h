// ridgeline/device/cuda/kernels/gather.h
//
// Rows of a table by index, [outer, rows, inner] to [outer, count, inner], and the gradient of the table: for each row
// the sum of the gradients with its index, in their order, in f32 and rounded once, as on the CPU. An index without a
// row gives `outside` and no gradient.
#pragma once

#include "ridgeline/device/cuda/kernels/pointers.h"
#include "ridgeline/device/cuda/kernels/words.h"

namespace ridgeline::cuda {

// Words of any type.
template <class Word>
struct Gather {
  struct Parameters {
    const Word* table;
    const i32* indices;
    Word* y;
    i64 outer, rows, elements;  // words of y
    Divisor inner, count;
    u64 outside;  // word_of() it
  };
  using Shared = Nothing;
  static constexpr int kThreads = 256;
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(divided_up(p.elements, kThreads))}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.table, p.outer * p.rows * p.inner.value);
    list.reads(p.indices, p.count.value);
    list.writes(p.y, p.elements);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    block.each_thread([&](int thread) {
      const i64 at = static_cast<i64>(block.x()) * kThreads + thread;
      if (at >= p.elements) return;
      u32 outer = static_cast<u32>(at);
      const u32 column = p.inner.split(outer);
      const i32 row = p.indices[p.count.split(outer)];
      const bool inside = row >= 0 && row < p.rows;
      p.y[at] = inside ? p.table[(outer * p.rows + row) * p.inner.value + column] : word_of<Word>(p.outside);
    });
  }
};

// A block computes up to 1,024 neighbouring elements of one row. It processes the indices in groups: each thread checks
// 32 of them and marks by a bit which are the row's; then all threads add the marked gradients, in order.
template <class T>
struct GatherGradient {
  static constexpr int kThreads = 256;
  static constexpr int kEach = 4, kTile = kEach * kThreads;
  static constexpr int kLooks = 32, kPart = kLooks * kThreads;
  struct Parameters {
    const T* dy;
    const i32* indices;
    T* dtable;
    i64 outer, rows, count, inner;
    Divisor tiles, table_rows;  // for the grid, the innermost first
  };
  struct Shared {
    u32 found[kThreads];
  };
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(p.outer * p.rows * p.tiles.value)}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.dy, p.outer * p.count * p.inner);
    list.reads(p.indices, p.count);
    list.writes(p.dtable, p.outer * p.rows * p.inner);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    struct Registers {
      float sums[kEach];
    };
    u32 outer = block.x();
    const i64 first = static_cast<i64>(p.tiles.split(outer)) * kTile;
    const i32 row = static_cast<i32>(p.table_rows.split(outer));
    const T* const dy = p.dy + outer * p.count * p.inner;
    typename Block::template PerThread<Registers> registers;
    block.each_thread([&](int thread) {
      RIDGELINE_UNROLL
      for (int e = 0; e < kEach; ++e) registers[thread].sums[e] = 0;
    });
    RIDGELINE_NO_UNROLL
    for (i64 part = 0; part < p.count; part += kPart) {
      block.each_thread([&](int thread) {
        const i64 begin = part + static_cast<i64>(thread) * kLooks;
        u32 found = 0;
        for (int i = 0; i < kLooks; ++i) {
          if (begin + i < p.count && p.indices[begin + i] == row) found |= u32{1} << i;
        }
        shared.found[thread] = found;
      });
      block.each_thread([&](int thread) {
        Registers& r = registers[thread];
        RIDGELINE_NO_UNROLL
        for (int word = 0; word < kThreads; ++word) {
          u32 found = shared.found[word];
          while (found != 0) {
            const T* const from = dy + (part + word * kLooks + lowest_bit(found)) * p.inner;
            found &= found - 1;
            RIDGELINE_UNROLL
            for (int e = 0; e < kEach; ++e) {
              const i64 column = first + e * kThreads + thread;
              if (column < p.inner) r.sums[e] += load_one(from + column);
            }
          }
        }
      });
    }
    block.each_thread([&](int thread) {
      T* const to = p.dtable + (outer * p.rows + row) * p.inner;
      RIDGELINE_UNROLL
      for (int e = 0; e < kEach; ++e) {
        const i64 column = first + e * kThreads + thread;
        if (column < p.inner) store_one(registers[thread].sums[e], to + column);
      }
    });
  }
};

#define RIDGELINE_GATHER_KERNELS(K)                 \
  K(gather_1, Gather<u8>)                           \
  K(gather_2, Gather<u16>)                          \
  K(gather_4, Gather<u32>)                          \
  K(gather_8, Gather<u64>)                          \
  K(gather_16, Gather<Quad>)                        \
  K(gather_gradient_f32, GatherGradient<float>)     \
  K(gather_gradient_bf16, GatherGradient<bfloat16>) \
  K(gather_gradient_f16, GatherGradient<float16>)

}  // namespace ridgeline::cuda
