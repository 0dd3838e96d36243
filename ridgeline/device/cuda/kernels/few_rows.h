// ridgeline/device/cuda/kernels/few_rows.h
//
// A dense layer of up to 32 rows, in bf16 or f16, by tensor cores, and its gradient with respect to the data. Both take
// as long as reading the weights. Each lane copies 16 bytes of them at a time into places of shared memory that it
// alone reads, two turns ahead, and nothing waits for other lanes. The words of the 16 bytes go to the products as they
// lie, the other operand's in the same order: so only the order in which elements are summed is another.
//
// The warps of a block share a sum, and theirs are added in a fixed order. Where a layer has few blocks, these share
// it, too (parts), and a kernel behind adds the parts in order.
#pragma once

#include "ridgeline/device/cuda/kernels/direct.h"
#include "ridgeline/device/cuda/kernels/matrix_tile.h"
#include "ridgeline/device/cuda/kernels/raw.h"

namespace ridgeline::cuda {

// What the blocks of both have: M tiles of 16 rows by N tiles of 8 columns. In a turn a lane reads four pieces of 16
// bytes of the weights.
template <int M, int N>
struct FewRowsTiles {
  static constexpr int kThreads = 256, kWarps = kThreads / kWarp, kBlocksAtOnce = 2;
  static constexpr int kAhead = 2;  // turns that are on their way
  struct Pieces {
    Quad at[4];
  };
  // Where a piece is in memory; not inside: zeros.
  struct Piece {
    const void* from;
    bool inside;
  };
  struct Sums {
    float at[M][N][4];
  };
  union alignas(16) Shared {
    Quad pieces[kWarps][kAhead + 1][4][kWarp];
    float sums[kWarps][N * 4][kWarp];
  };

  // Adds the products of `turns` turns of kSteps steps each. piece(turn, lane, i) places the weights of a lane,
  // other(turn, lane) reads its part of the other operand, one turn ahead; it is called for a turn behind the last,
  // too. rows(others, step, words) and columns(pieces, step, words) give the words of a step (matrix_tile.h).
  template <bool kF16, int kSteps, class PieceOf, class Other, class Rows, class Columns>
  static RIDGELINE_DEVICE void add_turns(int thread, int turns, const PieceOf& piece, const Other& other,
                                         const Rows& rows, const Columns& columns, Shared& shared, Sums& sums) {
    const int lane = thread % kWarp;
    RIDGELINE_UNROLL
    for (int i = 0; i < M * N * 4; ++i) sums.at[i / (N * 4)][i / 4 % N][i % 4] = 0;
#if RIDGELINE_ON_CARD
    Quad(&own)[kAhead + 1][4][kWarp] = shared.pieces[thread / kWarp];
    int filled = 0, used = 0;
    const auto start = [&](int turn) {
      if (turn < turns) {
        RIDGELINE_UNROLL
        for (int i = 0; i < 4; ++i) {
          const Piece at = piece(turn, lane, i);
          start_copy(&own[filled][i][lane], at.from, at.inside);
        }
      }
      end_copy_group();
      filled = filled == kAhead ? 0 : filled + 1;
    };
    RIDGELINE_UNROLL
    for (int turn = 0; turn < kAhead; ++turn) start(turn);
    auto now = other(0, lane);
    RIDGELINE_NO_UNROLL
    for (int turn = 0; turn < turns; ++turn) {
      const auto next = other(turn + 1, lane);
      start(turn + kAhead);
      finish_copy_groups<kAhead>();
      Pieces pieces;
      RIDGELINE_UNROLL
      for (int i = 0; i < 4; ++i) pieces.at[i] = own[used][i][lane];
      used = used == kAhead ? 0 : used + 1;
      RIDGELINE_UNROLL
      for (int step = 0; step < kSteps; ++step) {
        u32 a[M][4], b[N][2];
        rows(now, step, a);
        columns(pieces, step, b);
        multiply_tiles<kF16>(a, b, sums.at);
      }
      now = next;
    }
#else
    static_cast<void>(shared);
    const auto pieces_of = [&](int turn, int of) {
      Pieces pieces{};
      for (int i = 0; i < 4; ++i) {
        const Piece at = piece(turn, of, i);
        if (at.inside) pieces.at[i] = *static_cast<const Quad*>(at.from);
      }
      return pieces;
    };
    for (int turn = 0; turn < turns; ++turn) {
      for (int step = 0; step < kSteps; ++step) {
        add_step<kF16>(
            lane, step, [&](int, int of, u32(&a)[M][4]) { rows(other(turn, of), step, a); },
            [&](int, int of, u32(&b)[N][2]) { columns(pieces_of(turn, of), step, b); }, sums.at);
      }
    }
#endif
  }

  // Of tile m of rows: a thread keeps its sums, and a later phase adds those of the warps.
  static RIDGELINE_DEVICE void keep(const Sums& sums, int m, int thread, Shared& shared) {
    RIDGELINE_UNROLL
    for (int i = 0; i < N * 4; ++i) shared.sums[thread / kWarp][i][thread % kWarp] = sums.at[m][i / 4][i % 4];
  }
  static RIDGELINE_DEVICE float total(const Shared& shared, int i, int lane) {
    float sum = shared.sums[0][i][lane];
    RIDGELINE_UNROLL
    for (int warp = 1; warp < kWarps; ++warp) sum += shared.sums[warp][i][lane];
    return sum;
  }
};

// What becomes of sums: y = relu(sum + bias + addend) in T or f32.
template <class T>
struct SumsResult {
  Bias<T> bias;    // one for each column
  Bias<T> addend;  // one for each element
  T* narrow = nullptr;
  float* wide = nullptr;
  bool relu = false;

  void pointers(i64 columns, i64 elements, PointerList& list) const {
    bias.pointers(columns, list);
    addend.pointers(elements, list);
    list.writes(narrow, elements);
    list.writes(wide, elements);
  }
  RIDGELINE_DEVICE void finish(float sum, i32 column, i64 at) const {
    sum += bias.at(column) + addend.at(at);
    const float values[1] = {relu ? larger(sum, 0.0f) : sum};
    put(values, at);
  }
  template <int V>
  RIDGELINE_DEVICE void put(const float (&values)[V], i64 at) const {
    if (wide != nullptr)
      store(values, wide + at);
    else
      store(values, narrow + at);
  }
};

// The sums' length is divided into parts, one for each y of the grid; `length` is a multiple of what a block's warps
// read in a turn. Where there is more than one part, their sums are kept: [part][row][column].
struct SumParts {
  i32 count = 1, length = 0, turns = 0;
  float* sums = nullptr;  // null: there is one, whose sums are the result's

  template <class T>
  void pointers(const SumsResult<T>& result, i64 columns, i64 elements, PointerList& list) const {
    list.writes(sums, elements * count);
    result.pointers(columns, elements, list);
  }
  template <int V>
  RIDGELINE_DEVICE void keep(const float (&values)[V], i32 part, i64 elements, i64 at) const {
    store(values, sums + part * elements + at);
  }
};

// Columns are outputs. A turn of a warp is 32 inputs of 32 outputs: lane (g, t) reads inputs 8t to 8t + 7 of outputs g,
// g + 8, g + 16, g + 24 and of the rows of x.
template <class T, int M>
struct FewRows : FewRowsTiles<M, 4> {
  using Tiles = FewRowsTiles<M, 4>;
  using typename Tiles::Shared;
  static constexpr int kOutputs = 32;                              // of a block
  static constexpr int kSteps = 2, kInputs = kSteps * kTileDepth;  // of a warp's turn
  static constexpr int kTurn = kInputs * Tiles::kWarps;            // of a block's
  struct Parameters {
    const T *x, *w;
    SumsResult<T> y;
    SumParts parts;
    i32 rows, inputs, outputs;
  };
  static Blocks blocks(const Parameters& p) {
    return {static_cast<u32>(divided_up(p.outputs, kOutputs)), static_cast<u32>(p.parts.count)};
  }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.x, i64{p.rows} * p.inputs);
    list.reads(p.w, i64{p.outputs} * p.inputs);
    p.parts.pointers(p.y, p.outputs, i64{p.rows} * p.outputs, list);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    const i32 part = static_cast<i32>(block.y()), first = static_cast<i32>(block.x()) * kOutputs;
    typename Block::template PerThread<typename Tiles::Sums> sums;
    block.each_thread([&](int thread) { multiply(p, first, part, thread, shared, sums[thread]); });
    RIDGELINE_UNROLL
    for (int m = 0; m < M; ++m) {
      block.each_thread([&](int thread) { Tiles::keep(sums[thread], m, thread, shared); });
      block.each_thread([&](int thread) {
        RIDGELINE_UNROLL
        for (int half = 0; half < 2; ++half) {
          const int i = half * 8 + thread / kWarp, lane = thread % kWarp;
          const i32 row = m * 16 + lane / 4 + i % 4 / 2 * 8, output = first + i / 4 * 8 + lane % 4 * 2 + i % 2;
          if (row >= p.rows || output >= p.outputs) continue;
          const float sum[1] = {Tiles::total(shared, i, lane)};
          const i64 at = static_cast<i64>(row) * p.outputs + output;
          if (p.parts.sums != nullptr)
            p.parts.keep(sum, part, i64{p.rows} * p.outputs, at);
          else
            p.y.finish(sum[0], output, at);
        }
      });
    }
  }

 private:
  struct Other {
    Quad x[M * 2];
  };

  static RIDGELINE_DEVICE void multiply(const Parameters& p, i32 first, i32 part, int thread, Shared& shared,
                                        typename Tiles::Sums& sums) {
    const i32 begin = part * p.parts.length, end = smaller(begin + p.parts.length, p.inputs);
    const i32 from = begin + thread / kWarp * kInputs;
    const auto input = [&](int turn, int lane) { return from + turn * kTurn + lane % 4 * 8; };
    // Outputs and rows behind the last are read as the last ones and have no result; inputs behind the end are zeros.
    Tiles::template add_turns<std::is_same_v<T, float16>, kSteps>(
        thread, p.parts.turns,
        [&](int turn, int lane, int i) {
          const i32 k = input(turn, lane), output = smaller(first + i * 8 + lane / 4, p.outputs - 1);
          const bool inside = k < end;
          return typename Tiles::Piece{p.w + (inside ? output * p.inputs + k : 0), inside};
        },
        [&](int turn, int lane) {
          Other other;
          const i32 k = input(turn, lane);
          RIDGELINE_UNROLL
          for (int i = 0; i < M * 2; ++i) {
            const i32 row = smaller(i * 8 + lane / 4, p.rows - 1);
            other.x[i] = k < end ? *reinterpret_cast<const Quad*>(p.x + (row * p.inputs + k)) : Quad{};
          }
          return other;
        },
        [](const Other& other, int step, u32(&a)[M][4]) {
          RIDGELINE_UNROLL
          for (int i = 0; i < M * 4; ++i) a[i / 4][i % 4] = other.x[i / 4 * 2 + i % 2].at[step * 2 + i % 4 / 2];
        },
        [](const typename Tiles::Pieces& pieces, int step, u32(&b)[4][2]) {
          RIDGELINE_UNROLL
          for (int i = 0; i < 8; ++i) b[i / 2][i % 2] = pieces.at[i / 2].at[step * 2 + i % 2];
        },
        shared, sums);
  }
};

// Columns are inputs. A turn of a warp is 16 outputs of 64 inputs: lane (g, t) reads inputs 8g to 8g + 7 of outputs 4t
// to 4t + 3, and tile j has element j of each lane.
template <class T, int M>
struct FewRowsGradient : FewRowsTiles<M, 8> {
  using Tiles = FewRowsTiles<M, 8>;
  using typename Tiles::Shared;
  static constexpr int kInputs = 64;                        // of a block
  static constexpr int kTurn = kTileDepth * Tiles::kWarps;  // outputs
  struct Parameters {
    const T *dy, *w;
    SumsResult<T> dx;
    SumParts parts;
    i32 rows, inputs, outputs;
    i32 dy_row;  // values of a row of dy: a multiple of 4, zeros behind the outputs
  };
  static Blocks blocks(const Parameters& p) {
    return {static_cast<u32>(divided_up(p.inputs, kInputs)), static_cast<u32>(p.parts.count)};
  }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.dy, i64{p.rows} * p.dy_row);
    list.reads(p.w, i64{p.outputs} * p.inputs);
    p.parts.pointers(p.dx, p.inputs, i64{p.rows} * p.inputs, list);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
    const i32 part = static_cast<i32>(block.y()), first = static_cast<i32>(block.x()) * kInputs;
    typename Block::template PerThread<typename Tiles::Sums> sums;
    block.each_thread([&](int thread) { multiply(p, first, part, thread, shared, sums[thread]); });
    RIDGELINE_UNROLL
    for (int m = 0; m < M; ++m) {
      block.each_thread([&](int thread) { Tiles::keep(sums[thread], m, thread, shared); });
      // A thread has the eight neighbours that are in the eight tiles.
      block.each_thread([&](int thread) {
        const int i = thread / kWarp, lane = thread % kWarp;
        const i32 row = m * 16 + lane / 4 + i / 2 * 8, input = first + (lane % 4 * 2 + i % 2) * 8;
        if (i >= 4 || row >= p.rows || input >= p.inputs) return;
        float values[8];
        RIDGELINE_UNROLL
        for (int j = 0; j < 8; ++j) values[j] = Tiles::total(shared, j * 4 + i, lane);
        const i64 at = static_cast<i64>(row) * p.inputs + input;
        if (p.parts.sums != nullptr)
          p.parts.keep(values, part, i64{p.rows} * p.inputs, at);
        else
          p.dx.put(values, at);
      });
    }
  }

 private:
  struct Other {
    Raw<T, 4> dy[M * 2];
  };

  static RIDGELINE_DEVICE void multiply(const Parameters& p, i32 first, i32 part, int thread, Shared& shared,
                                        typename Tiles::Sums& sums) {
    const i32 begin = part * p.parts.length, end = smaller(begin + p.parts.length, p.outputs);
    const i32 from = begin + thread / kWarp * kTileDepth;
    const auto output = [&](int turn, int lane) { return from + turn * kTurn + lane % 4 * 4; };
    // Inputs and rows behind the last are read as the last ones and have no result; outputs behind the end are zeros.
    Tiles::template add_turns<std::is_same_v<T, float16>, 1>(
        thread, p.parts.turns,
        [&](int turn, int lane, int i) {
          const i32 o = output(turn, lane) + i, input = smaller(first + lane / 4 * 8, p.inputs - 8);
          const bool inside = o < end;
          return typename Tiles::Piece{p.w + (inside ? o * p.inputs + input : 0), inside};
        },
        [&](int turn, int lane) {
          Other other;
          const i32 o = output(turn, lane);
          RIDGELINE_UNROLL
          for (int i = 0; i < M * 2; ++i) {
            const i32 row = smaller(i * 8 + lane / 4, p.rows - 1);
            other.dy[i] = o < end ? load_raw<4>(p.dy + (row * p.dy_row + o)) : Raw<T, 4>{};
          }
          return other;
        },
        [](const Other& other, int, u32(&a)[M][4]) {
          RIDGELINE_UNROLL
          for (int i = 0; i < M * 4; ++i) a[i / 4][i % 4] = other.dy[i / 4 * 2 + i % 2].at[i % 4 / 2];
        },
        [](const typename Tiles::Pieces& pieces, int, u32(&b)[8][2]) {
          RIDGELINE_UNROLL
          for (int i = 0; i < 16; ++i) {
            const int j = i / 2;
            const u32 even = pieces.at[i % 2 * 2].at[j / 2], odd = pieces.at[i % 2 * 2 + 1].at[j / 2];
            b[j][i % 2] = j % 2 == 0 ? low_halves(even, odd) : high_halves(even, odd);
          }
        },
        shared, sums);
  }
};

// Adds the parts of each element in their order.
template <class T>
struct FewRowsSums {
  struct Parameters {
    const float* sums;
    SumsResult<T> y;
    i32 parts;
    i64 elements;
    Divisor columns;
  };
  using Shared = Nothing;
  static constexpr int kThreads = 128;
  static Blocks blocks(const Parameters& p) { return {static_cast<u32>(divided_up(p.elements, kThreads))}; }
  static void pointers(const Parameters& p, PointerList& list) {
    list.reads(p.sums, p.elements * p.parts);
    p.y.pointers(p.columns.value, p.elements, list);
  }

  template <class Block>
  static RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared&) {
    block.each_thread([&](int thread) {
      const i64 at = static_cast<i64>(block.x()) * kThreads + thread;
      if (at >= p.elements) return;
      float sum = p.sums[at];
      for (i32 part = 1; part < p.parts; ++part) sum += p.sums[part * p.elements + at];
      u32 row = static_cast<u32>(at);
      p.y.finish(sum, static_cast<i32>(p.columns.split(row)), at);
    });
  }
};

#define RIDGELINE_FEW_ROWS_KERNELS(K)                        \
  K(few_rows_bf16_16, FewRows<bfloat16, 1>)                  \
  K(few_rows_bf16_32, FewRows<bfloat16, 2>)                  \
  K(few_rows_f16_16, FewRows<float16, 1>)                    \
  K(few_rows_f16_32, FewRows<float16, 2>)                    \
  K(few_rows_gradient_bf16_16, FewRowsGradient<bfloat16, 1>) \
  K(few_rows_gradient_bf16_32, FewRowsGradient<bfloat16, 2>) \
  K(few_rows_gradient_f16_16, FewRowsGradient<float16, 1>)   \
  K(few_rows_gradient_f16_32, FewRowsGradient<float16, 2>)   \
  K(few_rows_sums_bf16, FewRowsSums<bfloat16>)               \
  K(few_rows_sums_f16, FewRowsSums<float16>)

}  // namespace ridgeline::cuda
