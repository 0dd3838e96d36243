#include <algorithm>
#include <type_traits>

#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/team_shares.h"
#include "ridgeline/device/cpu/tiles/added_products.h"
#include "ridgeline/device/cpu/tiles/dense_weights.h"
#include "ridgeline/device/cpu/tiles/halves.h"
#include "ridgeline/device/cpu/tiles/on_tiles.h"

namespace ridgeline::device::tiles {
namespace {

// dx = dy w. An item is a range of inputs; for each chunk of outputs the weights' rows, which are depths here, are
// packed into pairs: bf16 ones from tiles (dense_weights.h), 32 inputs (64 KB) at a time, while the next tiles are
// prefetched; f32 ones, which are split into halves (halves.h), from their rows, all of an item in the second-level
// cache.
class DenseBackwardDataKernel final : public Kernel {
 public:
  DenseBackwardDataKernel(const Dense& d, bool halves, Tiles tiles)
      : dense_(d), halves_(halves), code_(tile_code(tiles)) {
    rows_ = round_up(std::min(kDenseRows, d.rows), kBlock);
    if (threads_ > kSmallTeam) range_ = fair_range();
    dy_row_ = apart(round_up(d.outputs, kTileDepth));
    dy_at_ = reserve_values(scratch_, rows_ * dy_row_ * parts());
    thread_floats_ = chunk_ * staged_ / 2 * parts() + rows_ * range_;
    if (halves_) {
      a_offsets_ = halves_offsets(chunk_steps_, kTileDepth, rows_ * dy_row_, false);
      b_offsets_ = halves_offsets(chunk_steps_, kTileValues, chunk_ * staged_, true);
    }
    memory_ = scratch_.reserve(compute_threads() * thread_floats_);
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    bfloat16* const padded = values_at(scratch, dy_at_);
    for (std::int64_t first = 0; first < dense_.rows; first += rows_) {
      const std::int64_t rows = std::min(rows_, dense_.rows - first);
      if (halves_) {
        run_rows(first, rows, input<float>(a, 0), input<float>(a, 1), output<float>(a, 0), padded, scratch);
      } else {
        run_rows(first, rows, input<bfloat16>(a, 0), input<bfloat16>(a, 1), output<bfloat16>(a, 0), padded, scratch);
      }
    }
  }

 private:
  // T: bf16, or f32 that is split.
  template <class T>
  void run_rows(std::int64_t first, std::int64_t rows, const T* dy, const T* w, T* dx, bfloat16* padded,
                float* scratch) const {
    parallel_for(rows, 1, [&](std::int64_t begin, std::int64_t end) {
      pad(dy + (first + begin) * dense_.outputs, end - begin, padded + begin * dy_row_);
    });
    for_each_item(blocks_of(dense_.inputs, range_), [&](std::int64_t item, int thread) {
      const TileScope scope(code_);
      run_item(item * range_, rows, padded, w, dx + first * dense_.inputs, scratch + memory_ + thread * thread_floats_);
    });
  }

  void pad(const bfloat16* dy, std::int64_t rows, bfloat16* to) const {
    code_.copy_rows(dy, dense_.outputs, rows, dense_.outputs, to, dy_row_);
  }
  void pad(const float* dy, std::int64_t rows, bfloat16* to) const {
    for (std::int64_t row = 0; row < rows; ++row, dy += dense_.outputs, to += dy_row_) {
      bfloat16* const low = to + rows_ * dy_row_;
      code_.split(dy, dense_.outputs, to, low);
      clear(to + dense_.outputs, dy_row_ - dense_.outputs);
      clear(low + dense_.outputs, dy_row_ - dense_.outputs);
    }
  }

  std::int64_t parts() const { return halves_ ? 2 : 1; }

  static constexpr std::int64_t kRange = 512;  // inputs: a kilobyte of each row

  // In a large team all threads should have equal work.
  std::int64_t fair_range() const {
    constexpr double kOverhead = 16;  // of an item, in inputs
    const auto cost = [&](std::int64_t range) {
      return team_rounds(blocks_of(dense_.inputs, range), threads_) * (static_cast<double>(range) + kOverhead);
    };
    std::int64_t best = kRange;
    for (std::int64_t range = kRange - kBlock; range >= 2 * kBlock; range -= kBlock) {
      if (cost(range) < cost(best)) best = range;
    }
    return best;
  }

  template <class T>
  void run_item(std::int64_t first, std::int64_t rows, const bfloat16* dy, const T* w, T* dx, float* own) const {
    auto* const pairs = reinterpret_cast<bfloat16*>(own);
    float* const sums = own + chunk_ * staged_ / 2 * parts();
    const std::int64_t inputs = std::min(range_, dense_.inputs - first);
    for (std::int64_t chunk = 0; chunk < dense_.outputs; chunk += chunk_) {
      const std::int64_t outputs = std::min(chunk_, dense_.outputs - chunk);
      for (std::int64_t column = 0; column < inputs; column += staged_) {
        const std::int64_t columns = std::min(staged_, inputs - column);
        stage(w, chunk, outputs, first + column, columns, pairs);
        LinesAhead ahead;
        if constexpr (std::is_same_v<T, bfloat16>) ahead = behind(w, chunk, first, column + columns, inputs);
        multiply(dy + chunk, pairs, blocks_of(outputs, kTileDepth), rows, column, columns, chunk > 0, ahead, sums);
      }
    }
    T* to[kTileRows];
    for (std::int64_t row = 0; row < rows; row += kTileRows) {
      for (std::int64_t column = 0; column < inputs; column += kBlock) {
        for (std::int64_t r = 0; r < kTileRows; ++r) {
          to[r] = row + r < rows ? dx + (row + r) * dense_.inputs + first + column : nullptr;
        }
        const TileResultOf<T> result{sums + sums_at(row, column) + row % kBlock / kTileRows * 2 * kTileSums,
                                     std::min(kBlock, inputs - column),
                                     nullptr,
                                     false,
                                     to,
                                     nullptr,
                                     !halves_};
        if constexpr (std::is_same_v<T, bfloat16>) {
          code_.finish(result);
        } else {
          code_.finish_wide(result);
        }
      }
    }
  }

  // The tiles that are staged next: those of the chunk's next inputs, or of the next chunk's first ones.
  LinesAhead behind(const bfloat16* w, std::int64_t chunk, std::int64_t first, std::int64_t column,
                    std::int64_t inputs) const {
    if (column >= inputs) {
      column = 0;
      chunk += chunk_;
    }
    const std::int64_t outputs = std::min(chunk_, dense_.outputs - chunk);
    if (outputs <= 0) return {};
    return {w + form_.at(chunk / kBlock, (first + column) / kTileDepth), blocks_of(outputs, kBlock),
            DenseForm::kStepValues, form_.steps() * DenseForm::kStepValues};
  }

  // Pairs of the weights' rows, outputs from `chunk` and inputs from `first` on: [16 inputs][step].
  void stage(const bfloat16* w, std::int64_t chunk, std::int64_t outputs, std::int64_t first, std::int64_t inputs,
             bfloat16* pairs) const {
    for (std::int64_t step = 0; step < blocks_of(outputs, kTileDepth); ++step) {
      const bfloat16* from = w + form_.at(chunk / kBlock + step, first / kTileDepth);
      for (std::int64_t column = 0; column < inputs; column += kBlock, from += DenseForm::kStepValues) {
        code_.pair_rows_mixed(from, kTileDepth, kTileRows,
                              pairs + (column / kTileColumns * chunk_steps_ + step) * kTileValues,
                              chunk_steps_ * kTileValues);
      }
    }
  }
  void stage(const float* w, std::int64_t chunk, std::int64_t outputs, std::int64_t first, std::int64_t inputs,
             bfloat16* pairs) const {
    w += chunk * dense_.inputs + first;
    bfloat16 halves[2][2][kRange];  // of two rows: high, low
    for (std::int64_t k = 0; k < round_up(outputs, kTileDepth); k += 2) {
      const std::int64_t rows = std::clamp<std::int64_t>(outputs - k, 0, 2);
      for (std::int64_t row = 0; row < rows; ++row) {
        code_.split(w + (k + row) * dense_.inputs, inputs, halves[0][row], halves[1][row]);
      }
      for (std::int64_t half = 0; half < 2; ++half) {
        code_.interleave(rows > 0 ? halves[half][0] : nullptr, rows > 1 ? halves[half][1] : nullptr, inputs,
                         pairs + half * chunk_ * staged_ + k / 2 * kTileDepth, chunk_steps_ * kTileValues);
      }
    }
  }

  // Sums of a block of 32 rows and 32 inputs: [32 inputs][32 rows][2][2][16][16].
  std::int64_t sums_at(std::int64_t row, std::int64_t column) const {
    return (column / kBlock * (rows_ / kBlock) + row / kBlock) * 4 * kTileSums;
  }

  // `inputs` from input `first` of the item on.
  void multiply(const bfloat16* dy, const bfloat16* pairs, std::int64_t steps, std::int64_t rows, std::int64_t first,
                std::int64_t inputs, bool add, LinesAhead& ahead, float* sums) const {
    TileProduct product{};
    product.ahead = &ahead;
    product.ahead_lines = blocks_of(ahead.lines(), steps * blocks_of(rows, kBlock) * blocks_of(inputs, kBlock));
    product.a_row = dy_row_;
    product.a_offsets = a_offsets_.data();
    product.b_offsets = b_offsets_.data();
    product.steps = steps * (halves_ ? 3 : 1);
    AddedProducts products(code_);
    for (std::int64_t column = 0; column < inputs; column += kBlock) {
      product.b[0] = pairs + column / kTileColumns * chunk_steps_ * kTileValues;
      product.b[1] = product.b[0] + chunk_steps_ * kTileValues;
      for (std::int64_t row = 0; row < rows; row += kBlock) {
        product.a[0] = dy + row * dy_row_;
        product.a[1] = product.a[0] + kTileRows * dy_row_;
        products.multiply(product, rows - row > kTileRows ? 2 : 1, !halves_ || inputs - column > kTileColumns ? 2 : 1,
                          sums + sums_at(row, first + column), add);
      }
    }
    products.finish();
  }

  int threads_ = compute_threads();
  Dense dense_;
  bool halves_;
  std::int64_t range_ = kRange;  // of an item
  // Pairs at a time: outputs and inputs.
  std::int64_t chunk_ = halves_ ? 256 : 1024;
  std::int64_t staged_ = halves_ ? kRange : kBlock;
  std::int64_t chunk_steps_ = chunk_ / kTileDepth;
  DenseForm form_{dense_.outputs, dense_.inputs};
  const TileCode& code_;
  Scratch scratch_;
  std::int64_t rows_;    // at a time, whole blocks
  std::int64_t dy_row_;  // whole tiles, and lines apart
  std::int64_t dy_at_, thread_floats_, memory_;
  std::vector<std::int64_t> a_offsets_ = even_offsets(chunk_steps_, kTileDepth);
  std::vector<std::int64_t> b_offsets_ = even_offsets(chunk_steps_, kTileValues);
};

}  // namespace

KernelChoice make_dense_backward_data(const KernelRequest& request, Tiles tiles) {
  const ValueType &dy = request.inputs[0].type, &w = request.inputs[1].type, &dx = request.outputs[0].type;
  if (auto refusal = refuse_tiles(tiles)) return *refusal;
  if (auto refusal = refuse_types({&dy, &w, &dx}, {})) return *refusal;
  auto kernel = std::make_unique<DenseBackwardDataKernel>(dense_of(dx, w), false, tiles);
  describe(*kernel, request, tiles);
  kernel->input_layouts = {Layout(), dense_layout({w.shape[0], w.shape[1]}, tiles)};
  kernel->output_layouts.resize(1);
  return kernel;
}

KernelChoice make_halves_dense_backward_data(const KernelRequest& request, Tiles tiles) {
  const ValueType &dy = request.inputs[0].type, &w = request.inputs[1].type, &dx = request.outputs[0].type;
  if (auto refusal = refuse_tiles(tiles)) return *refusal;
  const Dense d = dense_of(dx, w);
  if (auto refusal = refuse_halves({&dy, &w, &dx}, d.outputs)) return *refusal;
  auto kernel = std::make_unique<DenseBackwardDataKernel>(d, true, tiles);
  name_halves(*kernel, request, tiles);
  return kernel;
}

}  // namespace ridgeline::device::tiles
