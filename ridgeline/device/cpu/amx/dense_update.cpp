#include "ridgeline/graph/op/dense_update.h"

#include <algorithm>

#include "ridgeline/device/cpu/amx/dense_gradient.h"
#include "ridgeline/device/cpu/amx/kernels.h"
#include "ridgeline/device/cpu/loop/loop_kernel.h"
#include "ridgeline/device/cpu/own/common.h"
#include "ridgeline/graph/loop/text.h"

namespace ridgeline::device {
namespace amx {
namespace {

// The gradient of 32 rows of weights is made in the second cache, and the update's loop reads it there: memory sees the
// states alone. An item is a range of inputs, whose part of x stays in the second cache, and some rows of outputs.
class DenseUpdateKernel final : public Kernel {
 public:
  DenseUpdateKernel(const Dense& d, Tiles tiles, const DenseUpdate& at, std::unique_ptr<LoopKernel> loop,
                    std::vector<std::int64_t> result_bytes)
      : gradient_(d, tiles, at.bias ? std::optional(DType::f32) : std::nullopt, scratch_),
        at_(at),
        loop_(std::move(loop)),
        result_bytes_(std::move(result_bytes)) {
    const std::int64_t most = std::clamp<std::int64_t>(kRangeSteps / gradient_.steps(), kLeastInputs, kMostInputs);
    ranges_ = blocks_of(d.inputs, most);
    inputs_ = round_up(blocks_of(d.inputs, ranges_), kBlock);
    ranges_ = blocks_of(d.inputs, inputs_);
    pitch_ = inputs_ + kLineFloats;
    strip_at_ = scratch_.reserve(compute_threads() * kBlock * pitch_);
    scratch_bytes = scratch_.bytes();
    for (std::size_t i = 0; i < at.states; ++i) {
      const auto over = static_cast<int>(i);
      in_place.push_back(loop_->in_place[i] == over ? over : -1);
    }
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    const Dense& d = gradient_.dense();
    Part whole = part_of(a);
    loop_->begin({whole.inputs.data(), whole.outputs.data(), nullptr});
    const auto operand = [&](std::size_t i) { return static_cast<const bfloat16*>(a.inputs[i]); };
    gradient_.prepare(operand(at_.x()), operand(at_.dy()), scratch, at_.bias ? a.outputs[at_.bias_result()] : nullptr);
    for_each_item(ranges_ * blocks_of(d.outputs, kItemRows), [&](std::int64_t item, int thread) {
      const TileScope scope(gradient_.code());
      float* const strip = scratch + strip_at_ + thread * kBlock * pitch_;
      const std::int64_t first = item / ranges_ * kItemRows, last = std::min(d.outputs, first + kItemRows);
      for (std::int64_t k = first; k < last; k += kBlock) update_rows(whole, k, item % ranges_, scratch, strip);
    });
  }

 private:
  static constexpr std::int64_t kRangeSteps = 16384;  // steps x inputs of 1 MB of x
  static constexpr std::int64_t kLeastInputs = 512;
  static constexpr std::int64_t kMostInputs = 4096;
  static constexpr std::int64_t kItemRows = 4 * kBlock;

  // The operands and results of the loop's expression.
  struct Part {
    std::vector<void*> inputs, outputs;
  };

  // What is updated at a time.
  struct Strip {
    std::int64_t row, rows, column, columns;
  };

  Part part_of(const KernelArguments& a) const {
    Part part;
    const std::size_t scalars = loop_operands_ - at_.states - 1;
    part.inputs.assign(a.inputs, a.inputs + at_.states);
    part.inputs.push_back(nullptr);  // the gradient
    part.inputs.insert(part.inputs.end(), a.inputs + at_.scalars(), a.inputs + at_.scalars() + scalars);
    for (std::size_t i = 0; i < result_bytes_.size(); ++i) part.outputs.push_back(a.outputs[at_.result_of(i)]);
    return part;
  }

  void update_rows(const Part& whole, std::int64_t first, std::int64_t range, float* scratch, float* strip) const {
    const Dense& d = gradient_.dense();
    const std::int64_t begin = range * inputs_;
    const Strip s{first, std::min(kBlock, d.outputs - first), begin, std::min(inputs_, d.inputs - begin)};
    fill(s, scratch, strip);
    Part part = whole;
    for (std::int64_t row = 0; row < s.rows; ++row) {
      const std::int64_t at = (first + row) * d.inputs + begin;
      const auto moved = [](void* base, std::int64_t bytes) -> void* { return static_cast<char*>(base) + bytes; };
      for (std::size_t i = 0; i < at_.states; ++i) part.inputs[i] = moved(whole.inputs[i], at * 4);
      part.inputs[at_.states] = strip + row * pitch_;
      for (std::size_t i = 0; i < part.outputs.size(); ++i)
        part.outputs[i] = moved(whole.outputs[i], at * result_bytes_[i]);
      loop_->run_part({part.inputs.data(), part.outputs.data(), nullptr}, s.columns);
    }
  }

  void fill(const Strip& s, const float* scratch, float* strip) const {
    alignas(64) float tiles[4 * kTileSums];
    TileProduct product = gradient_.rows_of(s.row, scratch);
    product.c = tiles;
    for (std::int64_t c = 0; c < s.columns; c += kBlock) {
      gradient_.multiply(product, s.row, s.column + c, scratch);
      for (std::int64_t row = 0; row < s.rows; row += kTileRows) {
        gradient_.code().store_sums(tiles + row / kTileRows * 2 * kTileSums, std::min(kTileRows, s.rows - row),
                                    std::min(kBlock, s.columns - c), strip + row * pitch_ + c, pitch_, false);
      }
    }
  }

  int threads_ = compute_threads();
  Scratch scratch_;
  DenseGradient gradient_;
  DenseUpdate at_;
  std::unique_ptr<LoopKernel> loop_;
  std::vector<std::int64_t> result_bytes_;  // of an element of the loop's results
  std::size_t loop_operands_ = loop_->operands();
  std::int64_t pitch_;            // of rows of a strip: an odd number of lines
  std::int64_t ranges_, inputs_;  // of inputs, and how many there are in one
  std::int64_t strip_at_;
};

bool in_plain_rows(const KernelOperand& operand) { return operand.free || operand.layout.plain(); }

}  // namespace

KernelChoice make_dense_update(const KernelRequest& request, Tiles tiles) {
  const DenseUpdate at(request.node.attributes);
  const ValueType &w = request.inputs[0].type, &x = request.inputs[at.x()].type, &dy = request.inputs[at.dy()].type;
  if (auto refusal = refuse_tiles(tiles)) return *refusal;
  if (auto refusal = refuse_types({&x, &dy}, {})) return *refusal;
  for (std::size_t i = 0; i < at.states; ++i) {
    if (!in_plain_rows(request.inputs[i])) return Refusal{"a state lies in " + request.inputs[i].layout.name()};
  }
  loop::Expression expression = loop::parse(request.node.attributes.string("expression"));
  expression.operands = static_cast<std::int32_t>(request.inputs.size()) - 1;
  std::vector<ValueType> operands(at.states + 1, w);
  for (std::size_t i = at.scalars(); i < request.inputs.size(); ++i) operands.push_back(request.inputs[i].type);
  std::vector<std::int64_t> result_bytes;
  for (const loop::Result& result : expression.results)
    result_bytes.push_back(static_cast<std::int64_t>(size_of(result.type)));
  auto loop = make_part_loop(expression, operands);
  if (const auto* refusal = std::get_if<Refusal>(&loop)) return *refusal;
  auto kernel =
      std::make_unique<DenseUpdateKernel>(dense_of(x, w), tiles, at, std::move(std::get<0>(loop)), result_bytes);
  kernel->in_place.resize(request.outputs.size(), -1);
  kernel->name = kernel_name(request, tiles);
  return kernel;
}

}  // namespace amx

KernelChoice make_amx_dense_update(const KernelRequest& request) {
  return amx::make_dense_update(request, amx::Tiles::amx);
}

}  // namespace ridgeline::device
