// ridgeline/device/cuda/kernels/copies.h
//
// Casts, fills, transposes of matrices and strided copies, for converting layouts and types. NHWC to NCHW is a
// transpose of [H*W, C] for each image, KRSC to OIHW of [R*S, C] for each filter; padding channels is a copy of rows
// with another width.
#pragma once

#include "ridgeline/device/cuda/kernels/pointers.h"
#include "ridgeline/device/cuda/kernels/words.h"

namespace ridgeline::cuda {

// to[i] = from[i] in another floating type.
template <class From, class To>
struct Cast {
  struct Parameters {
    const From* from;
    To* to;
    i64 elements;
    bool wide;  // 16-byte accesses are possible
  };
  using Shared = Nothing;
  static constexpr int kThreads = 256;
  static constexpr int kEach = 8;  // neighbouring elements of a thread
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(divided_up(p.elements, kThreads * kEach))}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.from, p.elements);
    list.writes(p.to, p.elements);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    block.each_thread([&](int thread) {
      const i64 first = (static_cast<i64>(block.x()) * kThreads + thread) * kEach;
      if (p.wide && first + kEach <= p.elements) {
        float values[kEach];
        load_wide(p.from + first, values);
        store_wide(values, p.to + first);
        return;
      }
      for (i64 i = first; i < p.elements && i < first + kEach; ++i) store_one(load_one(p.from + i), p.to + i);
    });
  }

 private:
  template <class T>
  static RIDGELINE_DEVICE void load_wide(const T* from, float (&values)[kEach]) {
    RIDGELINE_UNROLL
    for (int part = 0; part < kEach / kWide<T>; ++part) {
      float some[kWide<T>];
      load(from + part * kWide<T>, some);
      RIDGELINE_UNROLL
      for (int i = 0; i < kWide<T>; ++i) values[part * kWide<T> + i] = some[i];
    }
  }
  template <class T>
  static RIDGELINE_DEVICE void store_wide(const float (&values)[kEach], T* to) {
    RIDGELINE_UNROLL
    for (int part = 0; part < kEach / kWide<T>; ++part) {
      float some[kWide<T>];
      RIDGELINE_UNROLL
      for (int i = 0; i < kWide<T>; ++i) some[i] = values[part * kWide<T> + i];
      store(some, to + part * kWide<T>);
    }
  }
};

// Words of 4 bytes.
struct Fill {
  struct Parameters {
    u32* to;
    u32 word;
    i64 words;
  };
  using Shared = Nothing;
  static constexpr int kThreads = 256;
  static constexpr int kEach = 4;
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(divided_up(p.words, kThreads * kEach))}; }
  static void pointers(const Parameters& p, PointerList& list) { list.writes(p.to, p.words); }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    block.each_thread([&](int thread) {
      const i64 first = static_cast<i64>(block.x()) * kThreads * kEach + thread;
      RIDGELINE_UNROLL
      for (int k = 0; k < kEach; ++k) {
        const i64 i = first + k * kThreads;
        if (i < p.words) p.to[i] = p.word;
      }
    });
  }
};

// to[b][c][r] = from[b][r][c], elements of type Word whatever they mean.
template <class Word>
struct Transpose {
  struct Parameters {
    const Word* from;
    Word* to;
    i64 batch, rows, columns;
    Divisor row_tiles;  // for the grid's x, which counts tiles of rows within matrices
  };
  static constexpr int kTile = 32;
  struct Shared {
    Word tile[kTile][kTile + 1];
  };
  static constexpr int kThreads = 256;
  static Blocks blocks(const Parameters& p) {
    return {static_cast<u32>(p.batch * divided_up(p.rows, kTile)), static_cast<u32>(divided_up(p.columns, kTile))};
  }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.from, p.batch * p.rows * p.columns);
    list.writes(p.to, p.batch * p.rows * p.columns);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    u32 matrix = block.x();
    const i64 row = static_cast<i64>(p.row_tiles.split(matrix)) * kTile;
    const i64 column = static_cast<i64>(block.y()) * kTile;
    const i64 base = matrix * p.rows * p.columns;
    block.each_thread([&](int thread) {
      const int c = thread % kTile;
      RIDGELINE_UNROLL
      for (int k = 0; k < kTile; k += kThreads / kTile) {
        const int r = thread / kTile + k;
        if (row + r < p.rows && column + c < p.columns)
          shared.tile[r][c] = p.from[base + (row + r) * p.columns + column + c];
      }
    });
    block.each_thread([&](int thread) {
      const int r = thread % kTile;
      RIDGELINE_UNROLL
      for (int k = 0; k < kTile; k += kThreads / kTile) {
        const int c = thread / kTile + k;
        if (row + r < p.rows && column + c < p.columns)
          p.to[base + (column + c) * p.rows + row + r] = shared.tile[r][c];
      }
    });
  }
};

// to[index] = from[first + index * step] over up to six axes, `outside` where a position lies outside of `from`:
// slices, padding, broadcasts, permutations. kSpread: only every `every`-th position corresponds to an element of
// `from`; those in between are outside, too.
template <class Word, bool kSpread>
struct StridedCopy {
  static constexpr int kAxes = 6;
  struct Parameters {
    const Word* from;
    Word* to;
    i64 elements;
    Divisor extent[kAxes];   // of `to`, the innermost first
    i64 stride[kAxes];       // of `to`, in elements
    i64 from_stride[kAxes];  // of `from`, 0 where it is broadcast
    i64 first[kAxes];        // position in `from` of index 0
    i64 step[kAxes];         // positions by which an index advances
    i64 from_extent[kAxes];
    Divisor every[kSpread ? kAxes : 1];
    u64 outside;  // word_of() it
  };
  using Shared = Nothing;
  static constexpr int kThreads = 256;
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(divided_up(p.elements, kThreads))}; }
  static void pointers(const Parameters& p, PointerList& list) {
    i64 to = 1, from = 1;
    for (int axis = 0; axis < kAxes; ++axis) {
      to += (p.extent[axis].value - i64{1}) * p.stride[axis];
      from += (p.from_extent[axis] - 1) * p.from_stride[axis];
    }
    list.reads(p.from, from);
    list.writes(p.to, to);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    block.each_thread([&](int thread) {
      const i64 i = static_cast<i64>(block.x()) * kThreads + thread;
      if (i >= p.elements) return;
      u32 rest = static_cast<u32>(i);
      i64 to = 0, from = 0;
      bool inside = true;
      RIDGELINE_UNROLL
      for (int axis = 0; axis < kAxes; ++axis) {
        const i64 index = p.extent[axis].split(rest);
        i64 position = p.first[axis] + index * p.step[axis];
        inside = inside && position >= 0;
        if constexpr (kSpread) {
          u32 whole = static_cast<u32>(position < 0 ? 0 : position);
          inside = inside && p.every[axis].split(whole) == 0;
          position = whole;
        }
        inside = inside && position < p.from_extent[axis];
        to += index * p.stride[axis];
        from += position * p.from_stride[axis];
      }
      p.to[to] = inside ? p.from[from] : word_of<Word>(p.outside);
    });
  }
};

// Rows of another width: additional elements are zero, surplus ones are dropped. Types may differ.
template <class From, class To>
struct ResizeRows {
  struct Parameters {
    const From* from;
    To* to;
    i64 elements;  // of `to`
    u32 from_width;
    Divisor width;
  };
  using Shared = Nothing;
  static constexpr int kThreads = 256;
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(divided_up(p.elements, kThreads))}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.from, p.elements / p.width.value * p.from_width);
    list.writes(p.to, p.elements);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    block.each_thread([&](int thread) {
      const i64 i = static_cast<i64>(block.x()) * kThreads + thread;
      if (i >= p.elements) return;
      u32 row = static_cast<u32>(i);
      const u32 column = p.width.split(row);
      const float value = column < p.from_width ? load_one(p.from + static_cast<i64>(row) * p.from_width + column) : 0;
      store_one(value, p.to + i);
    });
  }
};

#define RIDGELINE_COPIES_KERNELS(K)                    \
  K(cast_f32_bf16, Cast<float, bfloat16>)              \
  K(cast_bf16_f32, Cast<bfloat16, float>)              \
  K(cast_f32_f16, Cast<float, float16>)                \
  K(cast_f16_f32, Cast<float16, float>)                \
  K(cast_bf16_f16, Cast<bfloat16, float16>)            \
  K(cast_f16_bf16, Cast<float16, bfloat16>)            \
  K(fill_words, Fill)                                  \
  K(transpose_1, Transpose<u8>)                        \
  K(transpose_2, Transpose<u16>)                       \
  K(transpose_4, Transpose<u32>)                       \
  K(transpose_8, Transpose<u64>)                       \
  K(strided_copy_1, StridedCopy<u8, false>)            \
  K(strided_copy_2, StridedCopy<u16, false>)           \
  K(strided_copy_4, StridedCopy<u32, false>)           \
  K(strided_copy_8, StridedCopy<u64, false>)           \
  K(strided_copy_16, StridedCopy<Quad, false>)         \
  K(spread_copy_1, StridedCopy<u8, true>)              \
  K(spread_copy_2, StridedCopy<u16, true>)             \
  K(spread_copy_4, StridedCopy<u32, true>)             \
  K(spread_copy_8, StridedCopy<u64, true>)             \
  K(spread_copy_16, StridedCopy<Quad, true>)           \
  K(resize_rows_f32, ResizeRows<float, float>)         \
  K(resize_rows_bf16, ResizeRows<bfloat16, bfloat16>)  \
  K(resize_rows_f16, ResizeRows<float16, float16>)     \
  K(resize_rows_f32_bf16, ResizeRows<float, bfloat16>) \
  K(resize_rows_f32_f16, ResizeRows<float, float16>)   \
  K(resize_rows_bf16_f32, ResizeRows<bfloat16, float>) \
  K(resize_rows_f16_f32, ResizeRows<float16, float>)

}  // namespace ridgeline::cuda
