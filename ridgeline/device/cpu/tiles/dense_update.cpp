#include "ridgeline/graph/op/dense_update.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/lines.h"
#include "ridgeline/device/cpu/loop/loop_kernel.h"
#include "ridgeline/device/cpu/sum/sum_of_squares.h"
#include "ridgeline/device/cpu/team_shares.h"
#include "ridgeline/device/cpu/tiles/dense_gradient.h"
#include "ridgeline/device/cpu/tiles/dense_states.h"
#include "ridgeline/device/cpu/tiles/on_tiles.h"
#include "ridgeline/graph/loop/text.h"

namespace ridgeline::device::tiles {
namespace {

// Elements that the loop updates at a time. In rows, long runs give the memory time for prefetches one run ahead.
constexpr std::int64_t kQuarters = 4;
constexpr std::int64_t kQuarterRows = kBlock / kQuarters;
constexpr int kQuarterBlock = DenseForm::kStepValues / kQuarters, kRowBlock = 512;

// Only the states go through memory: the gradient is computed in a cache, and the update's loop reads it there. An item
// is a range of inputs, whose piece of x stays in the second-level cache, and some rows of outputs.
//
// States in blocks (dense_states.h): the gradient of the next block is multiplied a tile at a time between the quarters
// of this one's update, so that the memory goes on meanwhile; nothing but the states leaves the first cache. Blocks
// come by rows, in the order of the memory, and the copy's tiles leave by quarters, too. Items are long, and threads
// are in different ranges as far as these last: in the same rows and range they hold each other up.
//
// States in plain rows: the gradient of 32 rows is made in the second cache. Copies of the weights in tiles
// (dense_weights.h) are rounded to rows there as well.
//
// Copies are put in their places past the caches. The squares of an L2 penalty are summed while weights are in the
// first cache.
class DenseUpdateKernel final : public Kernel {
 public:
  DenseUpdateKernel(const Dense& d, Tiles tiles, const DenseUpdate& at, std::unique_ptr<LoopKernel> loop,
                    std::vector<std::int64_t> result_bytes, std::vector<bool> in_tiles, bool in_blocks)
      : gradient_(d, tiles, at.bias ? std::optional(DType::f32) : std::nullopt, scratch_),
        at_(at),
        loop_(std::move(loop)),
        result_bytes_(std::move(result_bytes)),
        in_tiles_(std::move(in_tiles)),
        in_blocks_(in_blocks),
        form_{d.outputs, d.inputs} {
    const std::int64_t range_steps = in_blocks ? kBlockRangeSteps : kRangeSteps;
    const std::int64_t most = std::clamp<std::int64_t>(range_steps / gradient_.steps(), kLeastInputs, kMostInputs);
    ranges_ = blocks_of(d.inputs, most);
    inputs_ = round_up(blocks_of(d.inputs, ranges_), kBlock);
    ranges_ = blocks_of(d.inputs, inputs_);
    if (in_blocks) {
      const std::int64_t parts = blocks_of(kItems * threads_, ranges_);
      item_rows_ = std::min(kMostItemRows, round_up(blocks_of(d.outputs, parts), kBlock));
    }
    if (threads_ > kSmallTeam) item_rows_ = fair_rows(d.outputs);
    pitch_ = inputs_ + kLineFloats;
    if (in_blocks_) {
      strip_floats_ = (2 + std::ssize(result_bytes_) - static_cast<std::int64_t>(at.states)) * kBlockValues;
    } else {
      strip_floats_ = kBlock * pitch_;
      if (tiles_result_ < in_tiles_.size()) strip_floats_ += kBlock * copy_pitch() / 2;
    }
    strip_at_ = scratch_.reserve(compute_threads() * strip_floats_);
    if (at.squares) squares_at_ = scratch_.reserve(2 * strips());
    scratch_bytes = scratch_.bytes();
    whole_ = {LineVector<void*>(loop_operands_), LineVector<void*>(result_bytes_.size()), LineVector<void*>(at.states)};
    parts_.assign(static_cast<std::size_t>(threads_), whole_);
    for (std::size_t i = 0; i < at.states; ++i) {
      const auto over = static_cast<int>(i);
      in_place.push_back(loop_->in_place[i] == over ? over : -1);
    }
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    const Dense& d = gradient_.dense();
    aim(a);
    loop_->begin({whole_.inputs.data(), whole_.outputs.data(), nullptr});
    const auto operand = [&](std::size_t i) { return static_cast<const bfloat16*>(a.inputs[i]); };
    gradient_.prepare(operand(at_.x()), operand(at_.dy()), scratch, at_.bias ? a.outputs[at_.bias_result()] : nullptr);
    for_each_item(ranges_ * blocks_of(d.outputs, item_rows_), [&](std::int64_t item, int thread) {
      const TileScope scope(gradient_.code());
      float* const strip = scratch + strip_at_ + thread * strip_floats_;
      const std::int64_t range = item % ranges_, first = item / ranges_ * item_rows_;
      const std::int64_t last = std::min(d.outputs, first + item_rows_);
      Part& part = parts_[static_cast<std::size_t>(thread)];
      part = whole_;
      loop_->with_parts([&](LoopKernel::Parts& parts) {
        if (in_blocks_) return update_blocks(parts, part, first, last, range, scratch, strip);
        for (std::int64_t k = first; k < last; k += kBlock) update_rows(parts, part, k, range, scratch, strip);
      });
    });
    if (at_.squares) {
      const double* const sums = squares_of_strips(scratch);
      *static_cast<float*>(a.outputs[at_.squares_result()]) =
          static_cast<float>(std::accumulate(sums, sums + strips(), 0.0));
    }
  }

 private:
  static constexpr std::int64_t kRangeSteps = 16384;      // steps x inputs of 1 MB of x
  static constexpr std::int64_t kBlockRangeSteps = 6144;  // of 384 KB
  static constexpr std::int64_t kLeastInputs = 512;
  static constexpr std::int64_t kMostInputs = 4096;
  // Of an item. In blocks more, as far as there are some items for each thread.
  static constexpr std::int64_t kItemRows = 4 * kBlock, kMostItemRows = 32 * kBlock, kItems = 8;
  // In a large team all threads should have equal work: not longer than item_rows_.
  std::int64_t fair_rows(std::int64_t outputs) const {
    constexpr double kOverhead = 4;  // of an item, in rows
    const auto cost = [&](std::int64_t rows) {
      return team_rounds(ranges_ * blocks_of(outputs, rows), threads_) * (static_cast<double>(rows) + kOverhead);
    };
    std::int64_t best = item_rows_;
    for (std::int64_t rows = item_rows_ - kBlock; rows >= kBlock; rows -= kBlock) {
      if (cost(rows) < cost(best)) best = rows;
    }
    return best;
  }
  static constexpr std::int64_t kStateBytes = sizeof(float);
  static constexpr std::int64_t kBlockValues = DenseForm::kStepValues;

  // The operands and results of the loop's expression, and after these the states that the thread updates.
  struct Part {
    LineVector<void*> inputs, outputs, next;
  };

  // 32 x 32 weights, of which `rows` exist.
  struct Block {
    std::int64_t row, rows, column, at;  // `at`: where it lies
  };

  // Rows that are updated at a time.
  struct Strip {
    std::int64_t row, rows, column, columns;
  };

  std::int64_t strips() const { return ranges_ * blocks_of(gradient_.dense().outputs, kBlock); }
  // Of the weights in each strip, as they were.
  double* squares_of_strips(float* scratch) const { return reinterpret_cast<double*>(scratch + squares_at_); }

  std::int64_t copy_pitch() const { return inputs_ + kTileDepth; }

  void aim(const KernelArguments& a) {
    std::copy_n(a.inputs, at_.states, whole_.inputs.begin());
    // The states are followed by the gradient, then scalars.
    for (std::size_t i = at_.states + 1; i < loop_operands_; ++i)
      whole_.inputs[i] = a.inputs[at_.scalars() + i - at_.states - 1];
    for (std::size_t i = 0; i < result_bytes_.size(); ++i) whole_.outputs[i] = a.outputs[at_.result_of(i)];
  }

  static void* moved(void* base, std::int64_t bytes) { return static_cast<char*>(base) + bytes; }

  // Rows [first, last) of a range.
  void update_blocks(LoopKernel::Parts& parts, Part& part, std::int64_t first, std::int64_t last, std::int64_t range,
                     float* scratch, float* own) const {
    const Dense& d = gradient_.dense();
    const std::int64_t down = blocks_of(last - first, kBlock), begin = range * inputs_;
    const std::int64_t across = (std::min(begin + inputs_, d.inputs) - begin) / kBlock, count = down * across;
    const auto block = [&](std::int64_t i) {
      const std::int64_t row = first + i / across * kBlock, column = begin + i % across * kBlock;
      return Block{row, std::min(kBlock, last - row), column, form_.at(row / kBlock, column / kTileDepth)};
    };
    const auto copy_of = [&](std::size_t result) {
      return own + (2 + static_cast<std::int64_t>(result - at_.states)) * kBlockValues;
    };
    std::array<double, kMostItemRows / kBlock> squares{};
    TileProduct product = gradient_.rows_of(first, scratch);
    product.c_row = kBlock;
    Block now = block(0);
    for (std::int64_t tile = 0; tile < kQuarters; ++tile) multiply(product, now, tile, scratch, own);
    for (std::int64_t i = 0; i < count; ++i) {
      const bool more = i + 1 < count;
      const Block next = more ? block(i + 1) : Block{};
      float* const sums = own + i % 2 * kBlockValues;
      float* const next_sums = own + (i + 1) % 2 * kBlockValues;
      for (std::size_t k = 0; k < at_.states; ++k) {
        part.inputs[k] = moved(whole_.inputs[k], now.at * kStateBytes);
        part.next[k] = moved(whole_.inputs[k], next.at * kStateBytes);
      }
      part.inputs[at_.states] = sums;
      for (std::size_t k = 0; k < part.outputs.size(); ++k)
        part.outputs[k] = k < at_.states ? moved(whole_.outputs[k], now.at * kStateBytes) : copy_of(k);
      const auto* const weights = static_cast<const float*>(part.inputs[0]);
      std::int64_t tile = 0, streamed = 0;
      parts.run({part.inputs.data(), part.outputs.data(), nullptr}, now.rows * kBlock,
                more ? std::span<void* const>(part.next) : std::span<void* const>(),
                [&](std::int64_t begin_of_quarter, std::int64_t n) {
                  if (begin_of_quarter > 0) stream_copy(part, now, streamed++);
                  if (more) multiply(product, next, tile++, scratch, next_sums);
                  if (at_.squares)
                    squares[static_cast<std::size_t>(i / across)] += squares_in_cache(weights + begin_of_quarter, n);
                });
      for (; more && tile < kQuarters; ++tile) multiply(product, next, tile, scratch, next_sums);
      while (streamed < kQuarters) stream_copy(part, now, streamed++);
      for (std::size_t k = at_.states; k < part.outputs.size(); ++k) {
        if (!in_tiles_[k]) store_copy(now, k, part.outputs[k]);
      }
      for (std::size_t k = 0; k < at_.states && now.rows < kBlock; ++k) {
        auto* const state = static_cast<float*>(part.outputs[k]);
        std::fill(state + now.rows * kBlock, state + kBlockValues, 0.0f);  // no such outputs
      }
      now = next;
    }
    if (!at_.squares) return;
    for (std::int64_t k = 0; k < down; ++k)
      squares_of_strips(scratch)[(first / kBlock + k) * ranges_ + range] = squares[static_cast<std::size_t>(k)];
  }

  // A quarter of the block's copy in tiles, if there is one. At the end of the block, all of them together would delay
  // the stores of the next one.
  void stream_copy(const Part& part, const Block& block, std::int64_t quarter) const {
    if (tiles_result_ == in_tiles_.size()) return;
    const std::int64_t row = quarter * kQuarterRows, at = row * kTileDepth;
    gradient_.code().stream_rows(static_cast<const bfloat16*>(part.outputs[tiles_result_]) + at, kTileDepth,
                                 std::clamp<std::int64_t>(block.rows - row, 0, kQuarterRows), kTileDepth,
                                 static_cast<bfloat16*>(whole_.outputs[tiles_result_]) + block.at + at, kQuarterRows);
  }

  // Copies in plain rows. A row of 32 values of two bytes is a line: non-temporal stores save fetching it first.
  void store_copy(const Block& block, std::size_t result, const void* copy) const {
    const std::int64_t bytes = result_bytes_[result], inputs = gradient_.dense().inputs;
    for (std::int64_t row = 0; row < block.rows; ++row) {
      void* const to = moved(whole_.outputs[result], ((block.row + row) * inputs + block.column) * bytes);
      const auto* const from = static_cast<const std::byte*>(copy) + row * kBlock * bytes;
      if (bytes == sizeof(bfloat16)) {
        gradient_.code().stream_rows(reinterpret_cast<const bfloat16*>(from), kBlock, 1, kBlock,
                                     static_cast<bfloat16*>(to), 1);
      } else {
        std::memcpy(to, from, static_cast<std::size_t>(kBlock * bytes));
      }
    }
  }

  // One of the four tiles of a block's gradient.
  void multiply(TileProduct& product, const Block& block, std::int64_t tile, const float* scratch, float* sums) const {
    const std::int64_t row = tile / 2 * kTileRows, column = tile % 2 * kTileColumns;
    if (row >= block.rows) return;
    product.c = sums + row * kBlock + column;
    gradient_.multiply_tile(product, block.row + row, block.column + column, scratch);
  }

  void update_rows(LoopKernel::Parts& parts, Part& part, std::int64_t first, std::int64_t range, float* scratch,
                   float* strip) const {
    const Dense& d = gradient_.dense();
    const std::int64_t begin = range * inputs_;
    const Strip s{first, std::min(kBlock, d.outputs - first), begin, std::min(inputs_, d.inputs - begin)};
    fill(s, scratch, strip);
    auto* const copy = reinterpret_cast<bfloat16*>(strip + kBlock * pitch_);
    double squares = 0;
    for (std::int64_t row = 0; row < s.rows; ++row) {
      const std::int64_t at = (first + row) * d.inputs + begin;
      for (std::size_t i = 0; i < at_.states; ++i) {
        part.inputs[i] = moved(whole_.inputs[i], at * kStateBytes);
        part.next[i] = moved(part.inputs[i], d.inputs * kStateBytes);
      }
      part.inputs[at_.states] = strip + row * pitch_;
      for (std::size_t i = 0; i < part.outputs.size(); ++i)
        part.outputs[i] = in_tiles_[i] ? copy + row * copy_pitch() : moved(whole_.outputs[i], at * result_bytes_[i]);
      const auto* const weights = static_cast<const float*>(part.inputs[0]);
      parts.run({part.inputs.data(), part.outputs.data(), nullptr}, s.columns,
                row + 1 < s.rows ? std::span<void* const>(part.next) : std::span<void* const>(),
                [&](std::int64_t begin_of_block, std::int64_t count) {
                  if (at_.squares) squares += squares_in_cache(weights + begin_of_block, count);
                });
    }
    if (at_.squares) squares_of_strips(scratch)[first / kBlock * ranges_ + range] = squares;
    for (std::size_t i = 0; i < in_tiles_.size(); ++i) {
      if (!in_tiles_[i]) continue;
      DenseForm::store_rows(gradient_.code(), copy, copy_pitch(), s.rows, s.columns,
                            static_cast<bfloat16*>(whole_.outputs[i]) + form_.at(first / kBlock, begin / kTileDepth));
    }
  }

  // A strip's rows and columns end with full tiles, whatever follows the last sum.
  void fill(const Strip& s, const float* scratch, float* strip) const {
    TileProduct product = gradient_.rows_of(s.row, scratch);
    product.c_row = pitch_;
    for (std::int64_t c = 0; c < s.columns; c += kBlock) {
      product.c = strip + c;
      gradient_.multiply(product, s.row, s.column + c, scratch);
    }
  }

  int threads_ = compute_threads();
  Scratch scratch_;
  DenseGradient gradient_;
  DenseUpdate at_;
  std::unique_ptr<LoopKernel> loop_;
  std::vector<std::int64_t> result_bytes_;  // of an element of the loop's results
  std::vector<bool> in_tiles_;              // of the loop's results; one of them at most
  // Its number; that of the results where it is none.
  std::size_t tiles_result_ =
      static_cast<std::size_t>(std::find(in_tiles_.begin(), in_tiles_.end(), true) - in_tiles_.begin());
  bool in_blocks_;  // the states
  DenseForm form_;
  std::size_t loop_operands_ = loop_->operands();
  Part whole_;                    // of all weights
  std::vector<Part> parts_;       // of each thread: what it updates now
  std::int64_t pitch_;            // of rows of a strip: an odd number of lines
  std::int64_t ranges_, inputs_;  // of inputs, and how many there are in one
  std::int64_t item_rows_ = kItemRows;
  std::int64_t strip_floats_, strip_at_, squares_at_ = 0;
};

// Whether all states can be in blocks: no other layout is fixed.
bool may_lie_in_blocks(const KernelRequest& request, std::size_t states, const DenseForm& form) {
  if (form.inputs % kTileDepth != 0) return false;
  return std::all_of(
      request.inputs.begin(), request.inputs.begin() + static_cast<std::ptrdiff_t>(states),
      [&](const KernelOperand& state) { return state.free || is_dense_states_layout(state.layout.blocked(), form); });
}

}  // namespace

KernelChoice make_dense_update(const KernelRequest& request, Tiles tiles) {
  const DenseUpdate at(request.node.attributes);
  const ValueType &w = request.inputs[0].type, &x = request.inputs[at.x()].type, &dy = request.inputs[at.dy()].type;
  if (auto refusal = refuse_tiles(tiles)) return *refusal;
  if (auto refusal = refuse_types({&x, &dy}, {})) return *refusal;
  const Dense d = dense_of(x, w);
  const DenseForm form{d.outputs, d.inputs};
  const bool in_blocks = may_lie_in_blocks(request, at.states, form);
  for (std::size_t i = 0; i < at.states && !in_blocks; ++i) {
    const KernelOperand& state = request.inputs[i];
    if (!state.free && !state.layout.plain()) return Refusal{"a state lies in " + state.layout.name()};
  }
  loop::Expression expression = loop::parse(request.node.attributes.string("expression"));
  expression.operands = static_cast<std::int32_t>(request.inputs.size()) - 1;
  std::vector<ValueType> operands(at.states + 1, w);
  for (std::size_t i = at.scalars(); i < request.inputs.size(); ++i) operands.push_back(request.inputs[i].type);
  std::vector<std::int64_t> result_bytes;
  std::vector<bool> in_tiles;
  std::vector<Layout> output_layouts(request.outputs.size());
  for (std::size_t i = 0; i < expression.results.size(); ++i) {
    const DType type = expression.results[i].type;
    const Layout& wish = request.outputs[at.result_of(i)].layout;
    result_bytes.push_back(static_cast<std::int64_t>(size_of(type)));
    // Of one copy: the rows of another would need the same memory.
    const bool first = std::find(in_tiles.begin(), in_tiles.end(), true) == in_tiles.end();
    in_tiles.push_back(first && type == DType::bf16 && is_dense_layout(wish, form));
    if (in_tiles.back()) output_layouts[at.result_of(i)] = wish;
    if (in_blocks && i < at.states) output_layouts[i] = dense_states_layout(form);
  }
  own_name("squares");  // chooses the vector code
  auto loop = make_part_loop(expression, operands, at.states, in_blocks ? kQuarterBlock : kRowBlock);
  if (const auto* refusal = std::get_if<Refusal>(&loop)) return *refusal;
  auto kernel = std::make_unique<DenseUpdateKernel>(d, tiles, at, std::move(std::get<0>(loop)), result_bytes, in_tiles,
                                                    in_blocks);
  kernel->in_place.resize(request.outputs.size(), -1);
  if (in_blocks) {
    kernel->input_layouts.resize(request.inputs.size());
    std::fill_n(kernel->input_layouts.begin(), at.states, dense_states_layout(form));
  }
  kernel->output_layouts = std::move(output_layouts);
  describe(*kernel, request, tiles, in_blocks ? ", blocks" : "");
  return kernel;
}

}  // namespace ridgeline::device::tiles
