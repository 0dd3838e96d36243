// ridgeline/device/cuda/kernels/pool.h
//
// Max and average pooling over NHWC, forward and backward. A thread computes V channels of one pixel of the result; the
// backward ones gather, so each result is written once and sums run in the order of the windows. The max pool keeps the
// position of each maximum in its window as a byte; its gradient may pass the gate of the relu before the pool, which
// is closed where the maximum is not above 0. NaN wins a maximum, padding never does.
#pragma once

#include "ridgeline/device/cuda/kernels/pointers.h"
#include "ridgeline/device/cuda/kernels/raw.h"

namespace ridgeline::cuda {

struct PoolShape {
  i32 n = 0, h = 0, w = 0, c = 0;  // of the image
  i32 oh = 0, ow = 0;              // of the pooled image
  i32 kh = 1, kw = 1, sh = 1, sw = 1, top = 0, left = 0;

  i64 pixels() const { return static_cast<i64>(n) * h * w; }
  i64 pooled() const { return static_cast<i64>(n) * oh * ow; }
};

// Threads over the vectors of an image: channels innermost.
struct PixelThreads {
  i64 vectors = 0;
  Divisor channels, columns, rows;  // vectors of a pixel, pixels of a row, rows of an image

  PixelThreads() = default;
  PixelThreads(i64 n, i64 h, i64 w, i64 c, int width)
      : vectors(n * h * w * (c / width)), channels(c / width), columns(w), rows(h) {}
  Blocks blocks(int threads) const { return {static_cast<u32>(divided_up(vectors, threads))}; }

  struct Place {
    u32 n, row, column, vector;
  };
  RIDGELINE_DEVICE Place place(i64 thread) const {
    u32 rest = static_cast<u32>(thread);
    Place place;
    place.vector = channels.split(rest);
    place.column = columns.split(rest);
    place.row = rows.split(rest);
    place.n = rest;
    return place;
  }
};

// Taps [first, last) of the window at `out` that are in [0, size).
struct TapRange {
  i32 origin, first, last;
  RIDGELINE_DEVICE TapRange(i32 out, i32 stride, i32 pad, i32 kernel, i32 size) : origin(out * stride - pad) {
    first = origin < 0 ? -origin : 0;
    last = size - origin < kernel ? size - origin : kernel;
  }
};

// Windows [first, last) that contain pixel `at`.
struct WindowRange {
  i32 first, last;
  RIDGELINE_DEVICE WindowRange(i32 at, i32 stride, i32 pad, i32 kernel, i32 windows) {
    const i32 reach = at + pad - kernel + 1;  // out * stride >= reach, and <= at + pad
    first = reach <= 0 ? 0 : (reach + stride - 1) / stride;
    const i32 behind = (at + pad) / stride + 1;
    last = behind < windows ? behind : windows;
  }
};

// Contiguous bytes: the indices of V channels.
template <int V>
struct alignas(V) Bytes {
  u8 at[V];
};

// kWindow 2 and 3: windows of 2x2 and 3x3, whose elements are all on their way at once; 0: any.
template <class T, int V, int kWindow>
struct MaxPool {
  struct Parameters {
    const T* x;
    T* y;
    u8* index;
    PoolShape s;
    PixelThreads threads;
  };
  using Shared = Nothing;
  static constexpr int kThreads = 256;
  static Blocks blocks(const Parameters& p) { return p.threads.blocks(kThreads); }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.s.pixels() * p.s.c);
    list.writes(p.y, p.s.pooled() * p.s.c);
    list.writes(p.index, p.s.pooled() * p.s.c);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    block.each_thread([&](int thread) {
      const i64 at = static_cast<i64>(block.x()) * kThreads + thread;
      if (at >= p.threads.vectors) return;
      const auto place = p.threads.place(at);
      const PoolShape& s = p.s;
      const TapRange rows(static_cast<i32>(place.row), s.sh, s.top, s.kh, s.h);
      const TapRange columns(static_cast<i32>(place.column), s.sw, s.left, s.kw, s.w);
      const T* const corner =
          p.x + ((static_cast<i64>(place.n) * s.h + rows.origin) * static_cast<i64>(s.w) + columns.origin) * s.c +
          place.vector * V;
      float best[V];
      u32 where[V];
      if (kWindow == 0 || !take_known(s, rows, columns, corner, best, where))
        take_all(s, rows, columns, corner, best, where);
      store(best, p.y + at * V);
      Bytes<V> index;
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) index.at[v] = static_cast<u8>(where[v]);
      if (p.index != nullptr) *reinterpret_cast<Bytes<V>*>(p.index + at * V) = index;
    });
  }

 private:
  static RIDGELINE_DEVICE void read(const T* from, float (&to)[V]) { widen(load_raw<V>(from), to); }

  // The first of equal values stays, and so does the first NaN.
  static RIDGELINE_DEVICE void take_all(const PoolShape& s, const TapRange& rows, const TapRange& columns,
                                        const T* corner, float (&best)[V], u32 (&where)[V]) {
    RIDGELINE_UNROLL
    for (int v = 0; v < V; ++v) {
      best[v] = -infinity_f32();
      where[v] = static_cast<u32>(rows.first * s.kw + columns.first);  // of the first tap, for windows of -infinity
    }
    RIDGELINE_NO_UNROLL
    for (i32 r = rows.first; r < rows.last; ++r) {
      RIDGELINE_NO_UNROLL
      for (i32 k = columns.first; k < columns.last; ++k) {
        float x[V];
        read(corner + static_cast<i64>(r * s.w + k) * s.c, x);
        RIDGELINE_UNROLL
        for (int v = 0; v < V; ++v) {
          const bool better = !(x[v] <= best[v]) && best[v] == best[v];
          best[v] = better ? x[v] : best[v];
          where[v] = better ? static_cast<u32>(r * s.kw + k) : where[v];
        }
      }
    }
  }

  // Taps in the padding repeat a neighbour, which changes nothing. One comparison a tap, which is right unless there is
  // a NaN: then, and if anything is infinite, this returns false.
  static RIDGELINE_DEVICE bool take_known(const PoolShape& s, const TapRange& rows, const TapRange& columns,
                                          const T* corner, float (&best)[V], u32 (&where)[V]) {
    if (rows.first >= rows.last || columns.first >= columns.last) return false;
    constexpr int kSide = kWindow == 0 ? 1 : kWindow, kTaps = kSide * kSide;
    Raw<T, V> taps[kTaps];
    u32 positions[kTaps];
    RIDGELINE_UNROLL
    for (int tap = 0; tap < kTaps; ++tap) {
      const i32 r = within(rows, tap / kSide), k = within(columns, tap % kSide);
      positions[tap] = static_cast<u32>(kSide * r + k);
      taps[tap] = load_raw<V>(corner + static_cast<i64>(r * s.w + k) * s.c);
    }
    float nans[V] = {};
    RIDGELINE_UNROLL
    for (int tap = 0; tap < kTaps; ++tap) {
      float x[V];
      widen(taps[tap], x);
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) {
        nans[v] = fused(x[v], 0.0f, nans[v]);
        const bool better = tap == 0 || x[v] > best[v];
        best[v] = better ? x[v] : best[v];
        where[v] = better ? positions[tap] : where[v];
      }
    }
    float nan = 0;
    RIDGELINE_UNROLL
    for (int v = 0; v < V; ++v) nan += nans[v];
    return nan == nan;
  }
  static RIDGELINE_DEVICE i32 within(const TapRange& range, i32 tap) {
    const i32 low = tap < range.first ? range.first : tap;
    return low < range.last ? low : range.last - 1;
  }
};

template <class T, int V>
struct MaxPoolGradient {
  struct Parameters {
    const T* dy;
    const u8* index;
    const T* y;  // the pooled image, whose sign is the gate; null: no gate
    T* dx;
    PoolShape s;
    PixelThreads threads;
  };
  using Shared = Nothing;
  static constexpr int kThreads = 256;
  static Blocks blocks(const Parameters& p) { return p.threads.blocks(kThreads); }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.dy, p.s.pooled() * p.s.c);
    list.reads(p.index, p.s.pooled() * p.s.c);
    list.reads(p.y, p.s.pooled() * p.s.c);
    list.writes(p.dx, p.s.pixels() * p.s.c);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    block.each_thread([&](int thread) {
      const i64 at = static_cast<i64>(block.x()) * kThreads + thread;
      if (at >= p.threads.vectors) return;
      const auto place = p.threads.place(at);
      const PoolShape& s = p.s;
      const i32 row = static_cast<i32>(place.row), column = static_cast<i32>(place.column);
      const WindowRange rows(row, s.sh, s.top, s.kh, s.oh);
      const WindowRange columns(column, s.sw, s.left, s.kw, s.ow);
      const i64 image = static_cast<i64>(place.n) * s.oh * s.ow * s.c + place.vector * V;
      float sum[V];
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) sum[v] = 0;
      for (i32 oh = rows.first; oh < rows.last; ++oh) {
        for (i32 ow = columns.first; ow < columns.last; ++ow) {
          const i64 from = image + (static_cast<i64>(oh) * s.ow + ow) * s.c;
          const u32 position = static_cast<u32>((row + s.top - oh * s.sh) * s.kw + column + s.left - ow * s.sw);
          const Bytes<V> index = *reinterpret_cast<const Bytes<V>*>(p.index + from);
          float dy[V];
          load(p.dy + from, dy);
          if (p.y != nullptr) {
            float y[V];
            load(p.y + from, y);
            RIDGELINE_UNROLL
            for (int v = 0; v < V; ++v) dy[v] = y[v] <= 0 ? 0.0f : dy[v];
          }
          RIDGELINE_UNROLL
          for (int v = 0; v < V; ++v) sum[v] += index.at[v] == position ? dy[v] : 0.0f;
        }
      }
      store(sum, p.dx + at * V);
    });
  }
};

// The same for pools of stride 2: a thread computes a tile of 2x2 pixels, so a window's dy, index and gate are read
// once for all of the tile's pixels in it. Rows and columns are counted from the first window's corner. kWindow 3:
// windows of 3x3; 0: any.
template <class T, int V, int kWindow>
struct MaxPoolTileGradient {
  using Parameters = typename MaxPoolGradient<T, V>::Parameters;  // threads over [n, tile rows, tile columns, c]
  using Shared = Nothing;
  static constexpr int kThreads = 256;
  static Blocks blocks(const Parameters& p) { return p.threads.blocks(kThreads); }
  static void pointers(const Parameters& p, PointerList& list) { MaxPoolGradient<T, V>::pointers(p, list); }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    block.each_thread([&](int thread) {
      const i64 at = static_cast<i64>(block.x()) * kThreads + thread;
      if (at >= p.threads.vectors) return;
      const auto place = p.threads.place(at);
      const PoolShape& s = p.s;
      const i32 row = static_cast<i32>(place.row), column = static_cast<i32>(place.column);
      const i64 image = static_cast<i64>(place.n) * s.oh * s.ow * s.c + place.vector * V;
      float sum[4][V];
      RIDGELINE_UNROLL
      for (int pixel = 0; pixel < 4; ++pixel) {
        RIDGELINE_UNROLL
        for (int v = 0; v < V; ++v) sum[pixel][v] = 0;
      }
      if constexpr (kWindow == 3)
        add_known(p, image, row, column, sum);
      else
        add_any(p, image, row, column, sum);
      RIDGELINE_UNROLL
      for (int pixel = 0; pixel < 4; ++pixel) {
        const i32 i = 2 * row + pixel / 2 - s.top, j = 2 * column + pixel % 2 - s.left;
        if (i < 0 || i >= s.h || j < 0 || j >= s.w) continue;
        store(sum[pixel], p.dx + ((static_cast<i64>(place.n) * s.h + i) * s.w + j) * s.c + place.vector * V);
      }
    });
  }

 private:
  static RIDGELINE_DEVICE void add_any(const Parameters& p, i64 image, i32 row, i32 column, float (&sum)[4][V]) {
    const PoolShape& s = p.s;
    const i32 first_row = row - (s.kh - 1) / 2 > 0 ? row - (s.kh - 1) / 2 : 0;
    const i32 first_column = column - (s.kw - 1) / 2 > 0 ? column - (s.kw - 1) / 2 : 0;
    const i32 last_row = row < s.oh - 1 ? row : s.oh - 1, last_column = column < s.ow - 1 ? column : s.ow - 1;
    RIDGELINE_NO_UNROLL
    for (i32 oh = first_row; oh <= last_row; ++oh) {
      RIDGELINE_NO_UNROLL
      for (i32 ow = first_column; ow <= last_column; ++ow) {
        const i64 from = image + static_cast<i64>(oh * s.ow + ow) * s.c;
        const Bytes<V> index = *reinterpret_cast<const Bytes<V>*>(p.index + from);
        float dy[V];
        load(p.dy + from, dy);
        if (p.y != nullptr) {
          float y[V];
          load(p.y + from, y);
          RIDGELINE_UNROLL
          for (int v = 0; v < V; ++v) dy[v] = y[v] <= 0 ? 0.0f : dy[v];
        }
        // Positions of the tile's pixels in the window; 256 for one beyond the window's end.
        const i32 r = 2 * (row - oh), q = 2 * (column - ow);
        const u32 corner = static_cast<u32>(r * s.kw + q);
        const bool right = q + 1 < s.kw, below = r + 1 < s.kh;
        const u32 positions[4] = {corner, right ? corner + 1 : 256u, below ? corner + static_cast<u32>(s.kw) : 256u,
                                  right && below ? corner + static_cast<u32>(s.kw) + 1 : 256u};
        RIDGELINE_UNROLL
        for (int pixel = 0; pixel < 4; ++pixel) {
          RIDGELINE_UNROLL
          for (int v = 0; v < V; ++v) sum[pixel][v] += index.at[v] == positions[pixel] ? dy[v] : 0.0f;
        }
      }
    }
  }

  // Of windows of 3x3 those above and to the left have two pixels of the tile, that in the corner has one.
  static RIDGELINE_DEVICE void add_known(const Parameters& p, i64 image, i32 row, i32 column, float (&sum)[4][V]) {
    const PoolShape& s = p.s;
    Raw<u8, V> indices[4];
    Raw<T, V> gradients[4], gates[4];
    RIDGELINE_UNROLL
    for (int window = 0; window < 4; ++window) {
      const i32 oh = row - 1 + window / 2, ow = column - 1 + window % 2;
      const i64 from = image + static_cast<i64>(oh * s.ow + ow) * s.c;
      gradients[window] = gates[window] = {};
      RIDGELINE_UNROLL
      for (u32& word : indices[window].at) word = 0xffffffffu;  // no position
      if (static_cast<u32>(oh) >= static_cast<u32>(s.oh) || static_cast<u32>(ow) >= static_cast<u32>(s.ow)) continue;
      indices[window] = load_raw<V>(p.index + from);
      gradients[window] = load_raw<V>(p.dy + from);
      if (p.y != nullptr) gates[window] = load_raw<V>(p.y + from);
    }
    RIDGELINE_UNROLL
    for (int window = 0; window < 4; ++window) {
      float dy[V];
      widen(gradients[window], dy);
      if (p.y != nullptr) {
        float y[V];
        widen(gates[window], y);
        RIDGELINE_UNROLL
        for (int v = 0; v < V; ++v) dy[v] = y[v] <= 0 ? 0.0f : dy[v];
      }
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) {
        const u32 index = indices[window].at[v / 4] >> (8 * (v % 4)) & 0xffu;
        RIDGELINE_UNROLL
        for (int pixel = 0; pixel < 4; ++pixel) {
          const int r = 2 * (1 - window / 2) + pixel / 2, q = 2 * (1 - window % 2) + pixel % 2;
          if (r > 2 || q > 2) continue;
          if (index == static_cast<u32>(3 * r + q)) sum[pixel][v] += dy[v];
        }
      }
    }
  }
};

template <class T, int V>
struct AveragePool {
  struct Parameters {
    const T* x;
    T* y;
    bool count_padding;
    PoolShape s;
    PixelThreads threads;
  };
  using Shared = Nothing;
  static constexpr int kThreads = 256;
  static Blocks blocks(const Parameters& p) { return p.threads.blocks(kThreads); }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, p.s.pixels() * p.s.c);
    list.writes(p.y, p.s.pooled() * p.s.c);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    block.each_thread([&](int thread) {
      const i64 at = static_cast<i64>(block.x()) * kThreads + thread;
      if (at >= p.threads.vectors) return;
      const auto place = p.threads.place(at);
      const PoolShape& s = p.s;
      const TapRange rows(static_cast<i32>(place.row), s.sh, s.top, s.kh, s.h);
      const TapRange columns(static_cast<i32>(place.column), s.sw, s.left, s.kw, s.w);
      const T* const image = p.x + static_cast<i64>(place.n) * s.h * s.w * s.c + place.vector * V;
      float sum[V];
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) sum[v] = 0;
      for (i32 r = rows.first; r < rows.last; ++r) {
        const T* const row = image + (static_cast<i64>(rows.origin + r) * s.w + columns.origin) * s.c;
        for (i32 k = columns.first; k < columns.last; ++k) {
          float x[V];
          load(row + static_cast<i64>(k) * s.c, x);
          RIDGELINE_UNROLL
          for (int v = 0; v < V; ++v) sum[v] += x[v];
        }
      }
      const i32 inside = (rows.last - rows.first) * (columns.last - columns.first);
      const float count = static_cast<float>(p.count_padding ? s.kh * s.kw : inside);
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) sum[v] = sum[v] / count;
      store(sum, p.y + at * V);
    });
  }
};

template <class T, int V>
struct AveragePoolGradient {
  struct Parameters {
    const T* dy;
    T* dx;
    bool count_padding;
    PoolShape s;
    PixelThreads threads;
  };
  using Shared = Nothing;
  static constexpr int kThreads = 256;
  static Blocks blocks(const Parameters& p) { return p.threads.blocks(kThreads); }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.dy, p.s.pooled() * p.s.c);
    list.writes(p.dx, p.s.pixels() * p.s.c);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    block.each_thread([&](int thread) {
      const i64 at = static_cast<i64>(block.x()) * kThreads + thread;
      if (at >= p.threads.vectors) return;
      const auto place = p.threads.place(at);
      const PoolShape& s = p.s;
      const WindowRange rows(static_cast<i32>(place.row), s.sh, s.top, s.kh, s.oh);
      const WindowRange columns(static_cast<i32>(place.column), s.sw, s.left, s.kw, s.ow);
      const i64 image = static_cast<i64>(place.n) * s.oh * s.ow * s.c + place.vector * V;
      float sum[V];
      RIDGELINE_UNROLL
      for (int v = 0; v < V; ++v) sum[v] = 0;
      for (i32 oh = rows.first; oh < rows.last; ++oh) {
        const TapRange tall(oh, s.sh, s.top, s.kh, s.h);
        for (i32 ow = columns.first; ow < columns.last; ++ow) {
          const TapRange broad(ow, s.sw, s.left, s.kw, s.w);
          const i32 inside = (tall.last - tall.first) * (broad.last - broad.first);
          const float count = static_cast<float>(p.count_padding ? s.kh * s.kw : inside);
          float dy[V];
          load(p.dy + image + (static_cast<i64>(oh) * s.ow + ow) * s.c, dy);
          RIDGELINE_UNROLL
          for (int v = 0; v < V; ++v) sum[v] += dy[v] / count;
        }
      }
      store(sum, p.dx + at * V);
    });
  }
};

#define RIDGELINE_POOL_KERNELS(K)                                       \
  K(max_pool_f32, MaxPool<float, 4, 0>)                                 \
  K(max_pool_2_f32, MaxPool<float, 4, 2>)                               \
  K(max_pool_3_f32, MaxPool<float, 4, 3>)                               \
  K(max_pool_bf16, MaxPool<bfloat16, 8, 0>)                             \
  K(max_pool_2_bf16, MaxPool<bfloat16, 8, 2>)                           \
  K(max_pool_3_bf16, MaxPool<bfloat16, 8, 3>)                           \
  K(max_pool_f16, MaxPool<float16, 8, 0>)                               \
  K(max_pool_2_f16, MaxPool<float16, 8, 2>)                             \
  K(max_pool_3_f16, MaxPool<float16, 8, 3>)                             \
  K(max_pool_f32_1, MaxPool<float, 1, 0>)                               \
  K(max_pool_bf16_1, MaxPool<bfloat16, 1, 0>)                           \
  K(max_pool_f16_1, MaxPool<float16, 1, 0>)                             \
  K(max_pool_gradient_f32, MaxPoolGradient<float, 4>)                   \
  K(max_pool_gradient_bf16, MaxPoolGradient<bfloat16, 8>)               \
  K(max_pool_gradient_f16, MaxPoolGradient<float16, 8>)                 \
  K(max_pool_gradient_f32_1, MaxPoolGradient<float, 1>)                 \
  K(max_pool_gradient_bf16_1, MaxPoolGradient<bfloat16, 1>)             \
  K(max_pool_gradient_f16_1, MaxPoolGradient<float16, 1>)               \
  K(max_pool_tile_gradient_f32, MaxPoolTileGradient<float, 4, 0>)       \
  K(max_pool_tile_gradient_3_f32, MaxPoolTileGradient<float, 4, 3>)     \
  K(max_pool_tile_gradient_bf16, MaxPoolTileGradient<bfloat16, 8, 0>)   \
  K(max_pool_tile_gradient_3_bf16, MaxPoolTileGradient<bfloat16, 8, 3>) \
  K(max_pool_tile_gradient_f16, MaxPoolTileGradient<float16, 8, 0>)     \
  K(max_pool_tile_gradient_3_f16, MaxPoolTileGradient<float16, 8, 3>)   \
  K(average_pool_f32, AveragePool<float, 4>)                            \
  K(average_pool_bf16, AveragePool<bfloat16, 8>)                        \
  K(average_pool_f16, AveragePool<float16, 8>)                          \
  K(average_pool_f32_1, AveragePool<float, 1>)                          \
  K(average_pool_bf16_1, AveragePool<bfloat16, 1>)                      \
  K(average_pool_f16_1, AveragePool<float16, 1>)                        \
  K(average_pool_gradient_f32, AveragePoolGradient<float, 4>)           \
  K(average_pool_gradient_bf16, AveragePoolGradient<bfloat16, 8>)       \
  K(average_pool_gradient_f16, AveragePoolGradient<float16, 8>)         \
  K(average_pool_gradient_f32_1, AveragePoolGradient<float, 1>)         \
  K(average_pool_gradient_bf16_1, AveragePoolGradient<bfloat16, 1>)     \
  K(average_pool_gradient_f16_1, AveragePoolGradient<float16, 1>)

}  // namespace ridgeline::cuda
