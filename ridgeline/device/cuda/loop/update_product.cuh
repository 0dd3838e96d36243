// ridgeline/device/cuda/loop/update_product.cuh
//
// Of the same text, behind next_values() and store_next(): the product dy^T x of a tile, and the block that runs it
// all.

namespace ridgeline::cuda {

// Some rows of the tile's columns of dy and x.
struct Slab {
  u16 dy[kRows * kOutputs];
  u16 x[kRows * kInputs];
};
struct Shared {
  union alignas(16) {
    Slab slabs[kSlabs];
    float sums[kOutputs * kPitch];
  } tile;
  double squares[kSquares ? kThreads : 1];
  float bias[kBias ? kThreads : 1];
};

// Where a slab has a value: pieces of 16 bytes change places with the row, so that eight rows of one column are in all
// banks.
template <int kColumns>
RIDGELINE_DEVICE int place_in(int row, int column) {
  return row * kColumns + (column / 8 ^ row % 8) * 8 + column % 8;
}

// Zeros where there is nothing.
template <int kColumns>
RIDGELINE_DEVICE void start_rows(const u16* from, u32 columns, u32 first_column, u32 rows, u32 first_row, bool wide,
                                 int thread, u16* to) {
  RIDGELINE_UNROLL
  for (int i = 0; i < kRows * kColumns / 8 / kThreads; ++i) {
    const int piece = i * kThreads + thread, row = piece / (kColumns / 8), column = piece % (kColumns / 8) * 8;
    const u32 at_row = first_row + static_cast<u32>(row), at_column = first_column + static_cast<u32>(column);
    u16* const place = to + place_in<kColumns>(row, column);
    const u16* const source = from + (static_cast<i64>(at_row) * columns + at_column);
    if (wide) {
      const bool inside = at_row < rows && at_column < columns;
      start_copy(place, inside ? source : from, inside);
    } else {
      RIDGELINE_UNROLL
      for (int e = 0; e < 8; ++e) {
        const bool inside = at_row < rows && at_column + static_cast<u32>(e) < columns;
        place[e] = inside ? source[e] : static_cast<u16>(0);
      }
    }
  }
}
RIDGELINE_DEVICE void start_slab(const Parameters& p, const Tile& tile, int slab, int thread, Slab& to) {
  const u32 row = static_cast<u32>(slab * kRows);
  start_rows<kOutputs>(p.dy, p.outputs, tile.output, p.rows, row, p.wide_dy != 0, thread, to.dy);
  start_rows<kInputs>(p.x, p.inputs, tile.input, p.rows, row, p.wide_x != 0, thread, to.x);
}

// The part of the tile that a thread's warp multiplies.
RIDGELINE_DEVICE int warp_output(int thread) { return thread / kWarp / (kInputs / (8 * kN)) * (16 * kM); }
RIDGELINE_DEVICE int warp_input(int thread) { return thread / kWarp % (kInputs / (8 * kN)) * (8 * kN); }

RIDGELINE_DEVICE void multiply_slab(const Slab& slab, int rows, int thread, float (&sums)[kM][kN][4]) {
  const int output = warp_output(thread), input = warp_input(thread);
  RIDGELINE_UNROLL
  for (int step = 0; step < kRows / kTileDepth; ++step) {
    if (step * kTileDepth >= rows) continue;
    add_step<kF16>(
        thread % kWarp, step,
        [&](int of_step, int lane, u32(&a)[kM][4]) {
          RIDGELINE_UNROLL
          for (int m = 0; m < kM; ++m) {
            load_words(
                lane,
                [&](int i) {
                  return slab.dy +
                         place_in<kOutputs>(of_step * kTileDepth + i / 16 * 8 + i % 8, output + m * 16 + i / 8 % 2 * 8);
                },
                a[m]);
          }
        },
        [&](int of_step, int lane, u32(&b)[kN][2]) {
          RIDGELINE_UNROLL
          for (int n = 0; n < kN; n += 2) {
            u32 words[4];
            load_words(
                lane,
                [&](int i) {
                  return slab.x +
                         place_in<kInputs>(of_step * kTileDepth + i / 8 % 2 * 8 + i % 8, input + n * 8 + i / 16 * 8);
                },
                words);
            RIDGELINE_UNROLL
            for (int i = 0; i < 4; ++i) b[n + i / 2][i % 2] = words[i];
          }
        },
        sums);
  }
}

struct alignas(8) Pair {
  float at[2];
};
RIDGELINE_DEVICE void store_sums(const float (&sums)[kM][kN][4], int thread, float* to) {
  const int g = thread % kWarp / 4, t = thread % 4;
  RIDGELINE_UNROLL
  for (int m = 0; m < kM; ++m) {
    RIDGELINE_UNROLL
    for (int n = 0; n < kN; ++n) {
      RIDGELINE_UNROLL
      for (int half = 0; half < 2; ++half) {
        float* const place =
            to + (warp_output(thread) + m * 16 + half * 8 + g) * kPitch + warp_input(thread) + n * 8 + 2 * t;
        *reinterpret_cast<Pair*>(place) = Pair{{sums[m][n][half * 2], sums[m][n][half * 2 + 1]}};
      }
    }
  }
}
RIDGELINE_DEVICE void load_gradient(const float* line, int thread, bool wide, float (&to)[kEach]) {
  const int lane = thread % kWarp;
  if (wide) {
    const Group<float> group = *reinterpret_cast<const Group<float>*>(line + lane * kEach);
    RIDGELINE_UNROLL
    for (int e = 0; e < kEach; ++e) to[e] = group.at[e];
  } else {
    RIDGELINE_UNROLL
    for (int e = 0; e < kEach; ++e) to[e] = line[lane + e * kWarp];
  }
}

// Of groups of one thread: while some are updated, the next ones are on their way.
struct States {
  float at[kAhead][kStates][kEach];
};
struct StatesInTurn {
  States at[kAhead < kGroups ? 2 : 1];
};
RIDGELINE_DEVICE void load_states(const Parameters& p, const Tile& tile, int first, int thread, States& states) {
  RIDGELINE_UNROLL
  for (int i = 0; i < kAhead; ++i) {
    const Place place = place_of(p, tile, first + i, thread);
    RIDGELINE_UNROLL
    for (int k = 0; k < kStates; ++k) load_group(p.state[k], place, p.wide != 0, states.at[i][k]);
  }
}

// In f32 by fours, in double above.
RIDGELINE_DEVICE double squares_of(const float (&w)[kEach]) {
  float sum = w[0] * w[0];
  RIDGELINE_UNROLL
  for (int e = 1; e < kEach; ++e) sum = fused(w[e], w[e], sum);
  return static_cast<double>(sum);
}

struct Sums {
  float at[kM][kN][4];
};

template <class Block>
RIDGELINE_DEVICE void run(Block& block, const Parameters& p, Shared& shared) {
  const Tile tile{block.y() * kOutputs, block.x() * kInputs};
  const int slabs = (static_cast<int>(p.rows) + kRows - 1) / kRows;
  const bool wide = p.wide != 0, sums_bias = kBias && block.x() == 0;
  typename Block::template PerThread<Sums> sums;
  typename Block::template PerThread<StatesInTurn> states;
  typename Block::template PerThread<Scalars> scalars;
  typename Block::template PerThread<float> bias;
  block.each_thread([&](int thread) {
    RIDGELINE_UNROLL
    for (int s = 0; s < kSlabs - 1; ++s) {
      if (s < slabs) start_slab(p, tile, s, thread, shared.tile.slabs[s]);
      end_copy_group();
    }
    load_states(p, tile, 0, thread, states[thread].at[0]);
    scalars[thread] = scalars_of(p);
    bias[thread] = 0;
    RIDGELINE_UNROLL
    for (int m = 0; m < kM; ++m) {
      RIDGELINE_UNROLL
      for (int n = 0; n < kN; ++n) {
        RIDGELINE_UNROLL
        for (int i = 0; i < 4; ++i) sums[thread].at[m][n][i] = 0;
      }
    }
    finish_copy_groups<kSlabs - 2>();
  });
  RIDGELINE_NO_UNROLL
  for (int s = 0; s < slabs; ++s) {
    block.each_thread([&](int thread) {
      // Into the slab that the phase before multiplied.
      const int next = s + kSlabs - 1;
      if (next < slabs) start_slab(p, tile, next, thread, shared.tile.slabs[next % kSlabs]);
      end_copy_group();
      const Slab& slab = shared.tile.slabs[s % kSlabs];
      multiply_slab(slab, static_cast<int>(p.rows) - s * kRows, thread, sums[thread].at);
      if (sums_bias) {
        for (int row = thread / kOutputs; row < kRows; row += kThreads / kOutputs) {
          const u16 value = slab.dy[place_in<kOutputs>(row, thread % kOutputs)];
          bias[thread] += kF16 ? f16_to_float(value) : bf16_to_float(value);
        }
      }
      finish_copy_groups<kSlabs - 2>();
    });
  }
  block.each_thread([&](int thread) {
    store_sums(sums[thread].at, thread, shared.tile.sums);
    if (kBias) shared.bias[thread] = bias[thread];
    if constexpr (kAhead < kGroups) load_states(p, tile, kAhead, thread, states[thread].at[1]);
  });
  block.each_thread([&](int thread) {
    double squares = 0;
    RIDGELINE_UNROLL
    for (int first = 0; first < kGroups; first += kAhead) {
      States& now = states[thread].at[first / kAhead % 2];
      RIDGELINE_UNROLL
      for (int i = 0; i < kAhead; ++i) {
        float gradient[kEach];
        load_gradient(shared.tile.sums + line_of(first + i, thread) * kPitch, thread, wide, gradient);
        if (kSquares) squares += squares_of(now.at[i][0]);
        Next next;
        next_values(scalars[thread], now.at[i], gradient, next);
        store_next(p, place_of(p, tile, first + i, thread), wide, next);
      }
      if (first + 2 * kAhead < kGroups) load_states(p, tile, first + 2 * kAhead, thread, now);
    }
    if (kSquares) shared.squares[thread] = squares;
    const u32 output = tile.output + static_cast<u32>(thread);
    if (sums_bias && thread < kOutputs && output < p.outputs) {
      const float* const parts = shared.bias + thread;
      p.bias[output] = (parts[0] + parts[kOutputs]) + (parts[2 * kOutputs] + parts[3 * kOutputs]);
    }
  });
  if (!kSquares) return;
  tree<kThreads>(block, kThreads, 1, [&](int i, int j) { shared.squares[i] += shared.squares[j]; });
  block.each_thread([&](int thread) {
    if (thread == 0) p.squares[block.y() * ((p.inputs + kInputs - 1) / kInputs) + block.x()] = shared.squares[0];
  });
}
}  // namespace ridgeline::cuda

#if defined(__CUDACC__)
extern "C" __global__ void __launch_bounds__(ridgeline::cuda::kThreads, ridgeline::cuda::kBlocks)
    KERNEL(const __grid_constant__ ridgeline::cuda::Parameters p) {
  using namespace ridgeline::cuda;
  __shared__ Shared shared;
  CardBlock block;
  run(block, p, shared);
}
#else
extern "C" void KERNEL(const unsigned* grid, const unsigned*, unsigned, const void* parameters) {
  using namespace ridgeline::cuda;
  const FlushedDenormals flush;
  const auto& p = *static_cast<const Parameters*>(parameters);
  for (unsigned y = 0; y < grid[1]; ++y) {
    for (unsigned x = 0; x < grid[0]; ++x) {
      Shared shared;
      __builtin_memset(&shared, 0xa5, sizeof(shared));
      HostBlock<kThreads> block(x, y, 0);
      run(block, p, shared);
    }
  }
}
#endif
