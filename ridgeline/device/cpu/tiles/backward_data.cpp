#include <optional>

#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/tiles/correlation.h"
#include "ridgeline/device/cpu/tiles/on_tiles.h"
#include "ridgeline/device/cpu/tiles/pooled_gradient.h"

namespace ridgeline::device::tiles {
namespace {

// The rows of dy of a convolution whose result is pooled. A kernel runs once at a time, so their operands are its own
// until the next run.
class PooledRows final : public RowSource {
 public:
  explicit PooledRows(PooledGradient pool) : pool_(std::move(pool)) {}

  // Sets the operands of the rows.
  void read(const GradientOperand& from) {
    pool_.check(from.index);
    from_ = from;
  }
  void make(const TileCode& code, std::int64_t row, const Pair& columns, std::int64_t first, std::int64_t n,
            bfloat16* to, std::int64_t to_step) const override {
    pool_.make_row(code, from_, row, columns, first, n, to, to_step);
  }
  LinesAhead lines(const Pair& rows) const override {
    return pool_.value_lines(from_, rows, 0, pool_.channels(), nullptr);
  }

 private:
  PooledGradient pool_;
  GradientOperand from_;
};

// Operands are dy, its index where it is that of a pooled image, the weights and, perhaps, the gate.
class BackwardDataKernel final : public Kernel {
 public:
  BackwardDataKernel(const Convolution& convolution, const WeightsForm& form, Tiles tiles,
                     std::optional<PooledGradient> pool)
      : rows_(pool ? std::make_unique<PooledRows>(std::move(*pool)) : nullptr),
        correlation_(with_source(backward_data_correlation(convolution)), form, false, tiles, scratch_) {
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    const int weights = rows_ ? 2 : 1;
    if (rows_) rows_->read({input<bfloat16>(a, 0), input<std::uint8_t>(a, 1)});
    const Epilogue<bfloat16> epilogue{.gate = gate ? input<bfloat16>(a, weights + 1) : nullptr};
    correlation_.run(input<bfloat16>(a, 0), input<bfloat16>(a, weights), output<bfloat16>(a, 0), epilogue,
                     static_cast<float*>(a.scratch));
  }

  bool gate = false;

 private:
  Correlation with_source(Correlation correlation) const {
    correlation.source = rows_.get();
    return correlation;
  }

  int threads_ = compute_threads();
  Scratch scratch_;
  std::unique_ptr<PooledRows> rows_;
  CorrelationCode correlation_;
};

// `image`: dy of the convolution.
KernelChoice make_any(const KernelRequest& request, Tiles tiles, const ValueType& image,
                      std::optional<PooledGradient> pool) {
  const std::size_t weights = pool ? 2 : 1;
  const ValueType &dy = request.inputs[0].type, &w = request.inputs[weights].type, &dx = request.outputs[0].type;
  if (auto refusal = refuse_tiles(tiles)) return *refusal;
  if (auto refusal = refuse_types({&dy, &w, &dx}, {})) return *refusal;
  const Convolution c = convolution_of(request, dx, w, image);
  if (auto refusal = refuse_groups(c)) return *refusal;
  if (pool && c.window.stride != Pair{1, 1}) return Refusal{"a stride: each part of the image would make all rows"};
  const WeightsForm form{c.groups, c.group_filters(), c.taps(), c.group_channels(), true};
  auto kernel = std::make_unique<BackwardDataKernel>(c, form, tiles, std::move(pool));
  kernel->gate = request.inputs.size() == weights + 2;
  describe(*kernel, request, tiles);
  kernel->input_layouts.resize(request.inputs.size());
  kernel->input_layouts[weights] = weights_layout(form, tiles);
  kernel->output_layouts.resize(1);
  return kernel;
}

}  // namespace

KernelChoice make_backward_data(const KernelRequest& request, Tiles tiles) {
  return make_any(request, tiles, request.inputs[0].type, std::nullopt);
}

KernelChoice make_pooled_backward_data(const KernelRequest& request, Tiles tiles) {
  const ValueType image = unpooled_gradient(request);
  return make_any(request, tiles, image, PooledGradient(request.node.attributes, image, request.inputs[0].type));
}

}  // namespace ridgeline::device::tiles
