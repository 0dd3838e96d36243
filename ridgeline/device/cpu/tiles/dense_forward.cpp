#include <algorithm>
#include <type_traits>

#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/tiles/added_products.h"
#include "ridgeline/device/cpu/tiles/dense_weights.h"
#include "ridgeline/device/cpu/tiles/halves.h"
#include "ridgeline/device/cpu/tiles/on_tiles.h"

namespace ridgeline::device::tiles {
namespace {

// The products are w x^T: 16 outputs are rows of A, read in place, rows of x become columns of B once. An item is some
// hundred outputs; for each chunk of inputs, whose piece of x stays in the second-level cache, their weights pass, each
// 32 outputs while those before are multiplied. bf16 weights are tiles already (dense_weights.h); f32 values are split
// into halves (halves.h) on reading.
class DenseForwardKernel final : public Kernel {
 public:
  DenseForwardKernel(const Dense& d, bool halves, Tiles tiles, bool relu, std::optional<DType> bias, bool addend)
      : dense_(d), halves_(halves), code_(tile_code(tiles)), relu_(relu), bias_type_(bias), addend_(addend) {
    rows_ = round_up(std::min(kDenseRows, d.rows), kBlock);
    chunks_ = blocks_of(d.inputs, kChunk);
    const std::int64_t threads = compute_threads();
    const std::int64_t blocks = blocks_of(d.outputs, kBlock);
    item_blocks_ = std::clamp<std::int64_t>(blocks / threads, 1, kItemBlocks);
    bias_at_ = scratch_.reserve(d.outputs + kBlock);
    half_x_ = chunks_ * kChunk * rows_;
    x_at_ = reserve_values(scratch_, half_x_ * parts());
    if (halves_) split_at_ = reserve_values(scratch_, rows_ * both_halves(d.inputs));
    staged_floats_ = halves_ ? kBlock * kStagedRow : 0;
    thread_floats_ = staged_floats_ + item_blocks_ * kBlock * rows_;
    if (halves_) {
      a_offsets_ = halves_offsets(kChunkSteps, kTileDepth, kBlock * kStagedRow, false);
      b_offsets_ = halves_offsets(kChunkSteps, kTileValues, half_x_, true);
    }
    memory_ = scratch_.reserve(threads * thread_floats_);
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    if (bias_type_) widen_bias(a.inputs[2], *bias_type_, dense_.outputs, scratch + bias_at_);
    const std::int64_t items = blocks_of(dense_.outputs, item_blocks_ * kBlock);
    for (std::int64_t first = 0; first < dense_.rows; first += rows_) {
      const std::int64_t rows = std::min(rows_, dense_.rows - first);
      bfloat16* const x = values_at(scratch, x_at_);
      if (halves_) {
        bfloat16* const split = values_at(scratch, split_at_);
        const std::int64_t half = half_channels(dense_.inputs);
        split_rows(code_, input<float>(a, 0) + first * dense_.inputs, rows, dense_.inputs, split);
        pack(split, 2 * half, rows, x);
        pack(split + half, 2 * half, rows, x + half_x_);
      } else {
        pack(input<bfloat16>(a, 0) + first * dense_.inputs, dense_.inputs, rows, x);
      }
      for_each_item(items, [&](std::int64_t item, int thread) {
        const TileScope scope(code_);
        float* const own = scratch + memory_ + thread * thread_floats_;
        if (halves_) {
          run_item<float>(a, item, first, rows, x, scratch + bias_at_, own);
        } else {
          run_item<bfloat16>(a, item, first, rows, x, scratch + bias_at_, own);
        }
      });
    }
  }

 private:
  static constexpr std::int64_t kChunk = 1024;  // inputs
  static constexpr std::int64_t kChunkSteps = kChunk / kTileDepth;
  static constexpr std::int64_t kStagedRow = apart(kChunk);
  static constexpr std::int64_t kItemBlocks = 16;

  std::int64_t parts() const { return halves_ ? 2 : 1; }

  // x as tiles of B: [chunk][16 rows of x][step]. Rows are `x_row` apart.
  void pack(const bfloat16* x, std::int64_t x_row, std::int64_t rows, bfloat16* to) const {
    const std::int64_t blocks = blocks_of(rows, kTileColumns);
    parallel_for(chunks_ * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t block = i % blocks, chunk = i / blocks;
        for (std::int64_t step = 0; step < steps_of(chunk); ++step) {
          const std::int64_t at = chunk * kChunk + step * kTileDepth;
          code_.pair_columns(x + block * kTileColumns * x_row + at, x_row, rows - block * kTileColumns,
                             dense_.inputs - at, to + x_tile(chunk, block) + step * kTileValues);
        }
      }
    });
  }
  std::int64_t x_tile(std::int64_t chunk, std::int64_t block) const {
    return (chunk * (rows_ / kTileColumns) + block) * kChunkSteps * kTileValues;
  }
  std::int64_t steps_of(std::int64_t chunk) const {
    return blocks_of(std::min(kChunk, dense_.inputs - chunk * kChunk), kTileDepth);
  }

  // 32 rows of f32 weights as tiles of A.
  void split(const float* w, std::int64_t rows, std::int64_t inputs, bfloat16* to) const {
    for (std::int64_t row = 0; row < rows; ++row, w += dense_.inputs, to += kStagedRow) {
      bfloat16* const low = to + kBlock * kStagedRow;
      code_.split(w, inputs, to, low);
      clear(to + inputs, round_up(inputs, kTileDepth) - inputs);
      clear(low + inputs, round_up(inputs, kTileDepth) - inputs);
    }
  }

  // `rows` rows of x from `first_row` on. T: bf16, or f32 that is split.
  template <class T>
  void run_item(const KernelArguments& a, std::int64_t item, std::int64_t first_row, std::int64_t rows,
                const bfloat16* x, const float* bias, float* own) const {
    const T* const w = input<T>(a, 1);
    const T* const addend = addend_ ? input<T>(a, 3) + first_row * dense_.outputs : nullptr;
    T* const y = output<T>(a, 0) + first_row * dense_.outputs;
    auto* const staged = reinterpret_cast<bfloat16*>(own);
    float* const sums = own + staged_floats_;
    const std::int64_t first = item * item_blocks_ * kBlock;
    const std::int64_t outputs = std::min(item_blocks_ * kBlock, dense_.outputs - first);
    const std::int64_t blocks = blocks_of(outputs, kBlock);
    AddedProducts products(code_);
    for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
      const std::int64_t inputs = std::min(kChunk, dense_.inputs - chunk * kChunk);
      for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t there = std::min(kBlock, outputs - block * kBlock);
        TileProduct product{};
        LinesAhead ahead;
        if constexpr (std::is_same_v<T, bfloat16>) {
          product.a_row = kTileDepth;
          product.a[0] = w + form_.at(first / kBlock + block, chunk * kChunkSteps);
          product.a[1] = product.a[0] + kTileValues;
          // The last block of a chunk is followed by the first of the next.
          const bool last = block + 1 == blocks;
          if (!last || chunk + 1 < chunks_) {
            const std::int64_t next = last ? chunk + 1 : chunk;
            ahead = {w + form_.at(first / kBlock + (last ? 0 : block + 1), next * kChunkSteps), 1,
                     steps_of(next) * DenseForm::kStepValues, 0};
          }
          product.ahead = &ahead;
          product.ahead_lines = blocks_of(ahead.lines(), steps_of(chunk) * blocks_of(rows, kBlock));
        } else {
          split(w + (first + block * kBlock) * dense_.inputs + chunk * kChunk, there, inputs, staged);
          product.a_row = kStagedRow;
          product.a[0] = staged;
          product.a[1] = staged + kTileRows * kStagedRow;
        }
        multiply(product, products, chunk, there, rows, x, sums + block * kBlock * rows_);
      }
    }
    products.finish();
    for (std::int64_t block = 0; block < blocks; ++block) {
      finish(sums + block * kBlock * rows_, rows, std::min(kBlock, outputs - block * kBlock),
             bias_type_ ? bias + first + block * kBlock : nullptr,
             addend == nullptr ? nullptr : addend + first + block * kBlock, y + first + block * kBlock);
    }
  }

  // 32 outputs by all rows; sums are stored as [32 rows][2][2][16][16].
  void multiply(TileProduct& product, AddedProducts& products, std::int64_t chunk, std::int64_t outputs,
                std::int64_t rows, const bfloat16* x, float* sums) const {
    product.a_offsets = a_offsets_.data();
    product.b_offsets = b_offsets_.data();
    product.steps = steps_of(chunk) * (halves_ ? 3 : 1);
    for (std::int64_t row = 0; row < rows; row += kBlock) {
      product.b[0] = x + x_tile(chunk, row / kTileColumns);
      product.b[1] = product.b[0] + kChunkSteps * kTileValues;
      products.multiply(product, outputs > kTileRows ? 2 : 1, rows - row > kTileColumns ? 2 : 1,
                        sums + row / kBlock * 4 * kTileSums, chunk > 0);
    }
  }

  template <class T>
  void finish(const float* sums, std::int64_t rows, std::int64_t outputs, const float* bias, const T* addend,
              T* y) const {
    alignas(64) float turned[2 * kTileSums];
    T* to[kTileRows];
    const T* added[kTileRows];
    for (std::int64_t row = 0; row < rows; row += kTileColumns) {
      const float* from = sums + row / kBlock * 4 * kTileSums + row % kBlock / kTileColumns * kTileSums;
      for (std::int64_t half = 0; half * kTileRows < outputs; ++half) {
        code_.pair_columns(reinterpret_cast<const bfloat16*>(from + half * 2 * kTileSums), kTileDepth, kTileRows,
                           kTileDepth, reinterpret_cast<bfloat16*>(turned + half * kTileSums));
      }
      for (std::int64_t r = 0; r < kTileRows; ++r) {
        const std::int64_t at = (row + r) * dense_.outputs;
        to[r] = row + r < rows ? y + at : nullptr;
        added[r] = addend == nullptr || row + r >= rows ? nullptr : addend + at;
      }
      const TileResultOf<T> result{turned, outputs, bias, relu_, to, addend == nullptr ? nullptr : added};
      if constexpr (std::is_same_v<T, bfloat16>) {
        code_.finish(result);
      } else {
        code_.finish_wide(result);
      }
    }
  }

  int threads_ = compute_threads();
  Dense dense_;
  bool halves_;
  const TileCode& code_;
  bool relu_;
  std::optional<DType> bias_type_;
  bool addend_;
  Scratch scratch_;
  std::int64_t rows_;    // at a time, whole blocks
  std::int64_t chunks_;  // of inputs
  std::int64_t item_blocks_;
  DenseForm form_{dense_.outputs, dense_.inputs};
  std::int64_t half_x_;  // what lies between tiles of high and of low halves
  std::int64_t bias_at_, x_at_, split_at_ = -1, staged_floats_, thread_floats_, memory_;
  std::vector<std::int64_t> a_offsets_ = even_offsets(kChunkSteps, DenseForm::kStepValues);
  std::vector<std::int64_t> b_offsets_ = even_offsets(kChunkSteps, kTileValues);
};

}  // namespace

KernelChoice make_dense_forward(const KernelRequest& request, Tiles tiles) {
  const ValueType &x = request.inputs[0].type, &w = request.inputs[1].type, &y = request.outputs[0].type;
  if (auto refusal = refuse_tiles(tiles)) return *refusal;
  if (auto refusal = refuse_types({&x, &w, &y}, {})) return *refusal;
  std::optional<DType> bias;
  if (request.inputs.size() > 2) {
    if (auto refusal = refuse_types({}, {&request.inputs[2].type})) return *refusal;
    bias = request.inputs[2].type.dtype;
  }
  auto kernel = std::make_unique<DenseForwardKernel>(dense_of(x, w), false, tiles,
                                                     request.node.attributes.string("activation") == "relu", bias,
                                                     request.inputs.size() == 4);
  describe(*kernel, request, tiles);
  kernel->input_layouts.resize(request.inputs.size());
  kernel->input_layouts[1] = dense_layout({w.shape[0], w.shape[1]}, tiles);
  kernel->output_layouts.resize(1);
  return kernel;
}

KernelChoice make_halves_dense_forward(const KernelRequest& request, Tiles tiles) {
  const ValueType &x = request.inputs[0].type, &w = request.inputs[1].type, &y = request.outputs[0].type;
  if (auto refusal = refuse_tiles(tiles)) return *refusal;
  const Dense d = dense_of(x, w);
  if (auto refusal = refuse_halves({&x, &w, &y}, d.inputs)) return *refusal;
  if (request.inputs.size() > 3) return Refusal{"an addend"};
  auto kernel = std::make_unique<DenseForwardKernel>(
      d, true, tiles, request.node.attributes.string("activation") == "relu",
      request.inputs.size() > 2 ? std::optional(request.inputs[2].type.dtype) : std::nullopt, false);
  name_halves(*kernel, request, tiles);
  return kernel;
}

}  // namespace ridgeline::device::tiles
