// ridgeline/device/cuda/kernels/image_tail.h
//
// The end of the input pipeline: bytes in NHWC with 3 channels, mirrored as `flip` says, mapped by the table of
// image/normalize.h (256 entries a channel) to f32, bf16 or f16. The result has 3 channels, or 8 of which the last five
// are zero, or consists of blocks of b*b pixels, [N, H/b, W/b, b*b*3], of an image with zeros around it: so that a
// first layer of stride b becomes one of stride 1.
#pragma once

#include "ridgeline/device/cuda/kernels/pointers.h"

namespace ridgeline::cuda {

struct NormaliseTable {
  float at[3 * 256];
};

// Three channels: a thread takes eight neighbouring values by one access, as many bytes where the image is not
// mirrored. The order of a mirrored line is that of its pixels, so their bytes are read one by one, and so is a group
// that is in two lines, the last group, and everything where addresses are not aligned.
template <class T>
struct ImageTail {
  struct Parameters {
    const u8* images;
    const u8* flip;  // null: none
    T* y;
    i64 values;
    Divisor line, rows;  // values of a line, lines of an image
    bool wide;
    NormaliseTable table;
  };
  static constexpr int kValues = 8;
  struct Shared {
    float table[5 * 256];  // of channels 0, 1, 2, 0, 1
  };
  static constexpr int kThreads = 256;
  static constexpr int kEach = 8;  // groups of a thread: a table costs as much as one
  static Blocks blocks(const Parameters& p) {
    return {static_cast<u32>(divided_up(p.values, kThreads * kEach * kValues))};
  }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.images, p.values);
    list.reads(p.flip, p.values / p.line.value / p.rows.value);
    list.writes(p.y, p.values);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    block.each_thread([&](int thread) {
      for (int i = thread; i < 3 * 256; i += kThreads) {
        const float value = p.table.at[i];
        shared.table[i] = value;
        if (i < 2 * 256) shared.table[3 * 256 + i] = value;
      }
    });
    block.each_thread([&](int thread) {
      i64 first = (static_cast<i64>(block.x()) * kThreads * kEach + thread) * kValues;
      RIDGELINE_NO_UNROLL
      for (int k = 0; k < kEach && first < p.values; ++k, first += kThreads * kValues) take(p, shared, first);
    });
  }

 private:
  static RIDGELINE_DEVICE void take(const Parameters& p, const Shared& shared, i64 first) {
    u32 row = static_cast<u32>(first);
    const u32 at = p.line.split(row);
    const bool flip = p.flip != nullptr && p.flip[p.rows.quotient(row)] != 0;
    const u32 channel = at % 3;
    const bool one_line = at + kValues <= p.line.value;
    float y[kValues];
    if (!p.wide || first + kValues > p.values || (p.flip != nullptr && !one_line)) {
      one_by_one(p, shared, first);
      return;
    }
    const float* const table = shared.table + 256 * channel;
    if (flip) {
      u32 of = channel;
      const u8* from = p.images + (first - at + (p.line.value - 3 - (at - channel)) + channel);
      RIDGELINE_UNROLL
      for (int k = 0; k < kValues; ++k) {
        y[k] = table[256 * (k % 3) + *from];
        const bool next = ++of == 3;
        from += next ? -5 : 1;
        of = next ? 0 : of;
      }
    } else {
      struct alignas(8) Eight {
        u32 at[2];
      };
      const Eight bytes = *reinterpret_cast<const Eight*>(p.images + first);
      RIDGELINE_UNROLL
      for (int k = 0; k < kValues; ++k) y[k] = table[256 * (k % 3) + (bytes.at[k / 4] >> (8 * (k % 4)) & 0xffu)];
    }
    store(y, p.y + first);
  }

  static RIDGELINE_DEVICE void one_by_one(const Parameters& p, const Shared& shared, i64 first) {
    RIDGELINE_NO_UNROLL
    for (i64 i = first; i < first + kValues && i < p.values; ++i) {
      u32 row = static_cast<u32>(i);
      const u32 at = p.line.split(row);
      const u32 channel = at % 3;
      i64 from = i;
      if (p.flip != nullptr && p.flip[p.rows.quotient(row)] != 0)
        from += static_cast<i64>(p.line.value) - 3 - 2 * static_cast<i64>(at - channel);
      store_one(shared.table[256 * channel + p.images[from]], p.y + i);
    }
  }
};

// Eight channels, written by one access, the last five zero: a thread takes a pixel.
template <class T>
struct ImageTailEight {
  struct Parameters {
    const u8* images;
    const u8* flip;  // null: none
    T* y;
    i64 pixels;
    Divisor columns, rows;
    NormaliseTable table;
  };
  struct Shared {
    float table[3 * 256];
  };
  static constexpr int kThreads = 256;
  static constexpr int kEach = 4;  // pixels of a thread
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(divided_up(p.pixels, kThreads * kEach))}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.images, p.pixels * 3);
    list.reads(p.flip, p.pixels / p.columns.value / p.rows.value);
    list.writes(p.y, p.pixels * 8);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    block.each_thread([&](int thread) {
      for (int i = thread; i < 3 * 256; i += kThreads) shared.table[i] = p.table.at[i];
    });
    block.each_thread([&](int thread) {
      const i64 first = static_cast<i64>(block.x()) * kThreads * kEach + thread;
      RIDGELINE_UNROLL
      for (int k = 0; k < kEach; ++k) {
        const i64 pixel = first + k * kThreads;
        if (pixel >= p.pixels) return;
        i64 from = pixel;
        if (p.flip != nullptr) {
          u32 row = static_cast<u32>(pixel);
          const u32 column = p.columns.split(row);
          if (p.flip[p.rows.quotient(row)] != 0)
            from += static_cast<i64>(p.columns.value) - 1 - 2 * static_cast<i64>(column);
        }
        const u8* const v = p.images + from * 3;
        const float y[8] = {shared.table[v[0]], shared.table[256 + v[1]], shared.table[512 + v[2]], 0, 0, 0, 0, 0};
        store(y, p.y + pixel * 8);
      }
    });
  }
};

// One thread for each row of a block: `side` pixels, 3*side neighbouring values; those of four pixels are stored as
// three groups of four, neighbouring ones by neighbouring threads.
template <class T>
struct ImageTailBlocks {
  struct Parameters {
    const u8* images;
    const u8* flip;
    T* y;
    i32 h, w, top, left;          // of the image; zeros above and left of it
    i64 lines;                    // rows of blocks' pixels of the result, N * H' * W' * side
    Divisor side, columns, rows;  // blocks of a row, rows of blocks
    bool wide;                    // blocks of 4x4, and four values are stored by one access
    NormaliseTable table;
  };
  static constexpr int kThreads = 256;
  static constexpr int kEach = 4;
  struct Shared {
    float table[3 * 256];
    Pack<T, 4> groups[3 * kThreads];
  };
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(divided_up(p.lines, kThreads * kEach))}; }
  static void pointers(const Parameters& p, PointerList& list) {
    const i64 images = p.lines / p.columns.value / p.rows.value / p.side.value;
    list.reads(p.images, images * p.h * p.w * 3);
    list.reads(p.flip, images);
    list.writes(p.y, p.lines * p.side.value * 3);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    block.each_thread([&](int thread) {
      for (int i = thread; i < 3 * 256; i += kThreads) shared.table[i] = p.table.at[i];
    });
    for (int k = 0; k < kEach; ++k) {
      const i64 first = (static_cast<i64>(block.x()) * kEach + k) * kThreads;
      block.each_thread([&](int thread) {
        if (first + thread < p.lines) take(p, shared, first + thread, shared.groups + 3 * thread);
      });
      if (!p.wide) continue;
      block.each_thread([&](int thread) {
        const i64 left = 3 * (p.lines - first);
        RIDGELINE_UNROLL
        for (int part = 0; part < 3; ++part) {
          const int group = part * kThreads + thread;
          if (group < left) *reinterpret_cast<Pack<T, 4>*>(p.y + 12 * first + 4 * group) = shared.groups[group];
        }
      });
    }
  }

 private:
  static RIDGELINE_DEVICE void take(const Parameters& p, const Shared& shared, i64 line, Pack<T, 4>* groups) {
    u32 rest = static_cast<u32>(line);
    const u32 dy = p.side.split(rest);
    const u32 block_column = p.columns.split(rest), block_row = p.rows.split(rest);
    const i32 side = static_cast<i32>(p.side.value);
    const i32 row = static_cast<i32>(block_row * p.side.value + dy) - p.top;
    const i32 begin = static_cast<i32>(block_column * p.side.value) - p.left;
    const bool flip = p.flip != nullptr && p.flip[rest] != 0;
    const u8* const from = p.images + (static_cast<i64>(rest) * p.h + row) * p.w * 3;
    const bool there = row >= 0 && row < p.h;
    if (p.wide) {
      float values[12];
      RIDGELINE_UNROLL
      for (int dx = 0; dx < 4; ++dx) read(shared, from, there, begin + dx, flip, p.w, values + 3 * dx);
      RIDGELINE_UNROLL
      for (int part = 0; part < 3; ++part) {
        RIDGELINE_UNROLL
        for (int i = 0; i < 4; ++i) groups[part].at[i] = Storage<T>::narrow(values[4 * part + i]);
      }
    } else {
      T* const to = p.y + line * side * 3;
      RIDGELINE_NO_UNROLL
      for (i32 dx = 0; dx < side; ++dx) {
        float values[3];
        read(shared, from, there, begin + dx, flip, p.w, values);
        RIDGELINE_UNROLL
        for (int c = 0; c < 3; ++c) store_one(values[c], to + 3 * dx + c);
      }
    }
  }

  // The three values of a pixel of a row, zeros outside.
  static RIDGELINE_DEVICE void read(const Shared& shared, const u8* row, bool there, i32 column, bool flip, i32 width,
                                    float* values) {
    const bool inside = there && column >= 0 && column < width;
    const u8* const v = row + static_cast<i64>(flip ? width - 1 - column : column) * 3;
    RIDGELINE_UNROLL
    for (int c = 0; c < 3; ++c) values[c] = inside ? shared.table[256 * c + v[c]] : 0.0f;
  }
};

#define RIDGELINE_IMAGE_TAIL_KERNELS(K)                \
  K(image_tail_f32, ImageTail<float>)                  \
  K(image_tail_bf16, ImageTail<bfloat16>)              \
  K(image_tail_f16, ImageTail<float16>)                \
  K(image_tail_8_f32, ImageTailEight<float>)           \
  K(image_tail_8_bf16, ImageTailEight<bfloat16>)       \
  K(image_tail_8_f16, ImageTailEight<float16>)         \
  K(image_tail_blocks_f32, ImageTailBlocks<float>)     \
  K(image_tail_blocks_bf16, ImageTailBlocks<bfloat16>) \
  K(image_tail_blocks_f16, ImageTailBlocks<float16>)

}  // namespace ridgeline::cuda
