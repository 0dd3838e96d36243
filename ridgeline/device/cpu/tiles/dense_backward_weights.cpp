#include <algorithm>

#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/tiles/dense_gradient.h"
#include "ridgeline/device/cpu/tiles/halves.h"
#include "ridgeline/device/cpu/tiles/on_tiles.h"

namespace ridgeline::device::tiles {
namespace {

// Writing the gradient takes the time, so its sums are written with non-temporal stores. An item is a range of inputs,
// whose piece of x stays in the second-level cache, and a range of outputs.
class DenseBackwardWeightsKernel final : public Kernel {
 public:
  DenseBackwardWeightsKernel(const Dense& d, bool halves, Tiles tiles, DType result, std::optional<DType> bias)
      : gradient_(d, tiles, bias, scratch_, halves), result_type_(result), bias_(bias.has_value()) {
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    gradient_.prepare(a.inputs[0], a.inputs[1], scratch, bias_ ? a.outputs[1] : nullptr);
    const Dense& d = gradient_.dense();
    const std::int64_t ranges = blocks_of(d.inputs, kInputs);
    for_each_item(ranges * blocks_of(d.outputs, kOutputs), [&](std::int64_t item, int) {
      const TileScope scope(gradient_.code());
      run_item(item / ranges * kOutputs, item % ranges * kInputs, scratch, a.outputs[0]);
    });
  }

 private:
  static constexpr std::int64_t kInputs = 1024;  // of an item
  static constexpr std::int64_t kOutputs = 512;

  void run_item(std::int64_t first_output, std::int64_t first_input, const float* scratch, void* dw) const {
    const Dense& d = gradient_.dense();
    const std::int64_t outputs = std::min(d.outputs, first_output + kOutputs);
    const std::int64_t inputs = std::min(d.inputs, first_input + kInputs);
    alignas(64) float sums[4 * kTileSums];
    for (std::int64_t k = first_output; k < outputs; k += kBlock) {
      const std::int64_t there = std::min(kBlock, outputs - k);
      TileProduct product = gradient_.rows_of(k, scratch);
      product.c = sums;
      for (std::int64_t c = first_input; c < inputs; c += kBlock) {
        gradient_.multiply(product, k, c, scratch);
        for (std::int64_t row = 0; row < there; row += kTileRows) {
          store(sums + row / kTileRows * 2 * kTileSums, std::min(kTileRows, there - row), std::min(kBlock, inputs - c),
                (k + row) * d.inputs + c, dw);
        }
      }
    }
  }

  void store(const float* sums, std::int64_t rows, std::int64_t columns, std::int64_t at, void* dw) const {
    const std::int64_t inputs = gradient_.dense().inputs;
    if (result_type_ == DType::f32) {
      gradient_.code().store_sums(sums, rows, columns, static_cast<float*>(dw) + at, inputs, true);
      return;
    }
    bfloat16* to[kTileRows];
    for (std::int64_t r = 0; r < kTileRows; ++r) {
      to[r] = r < rows ? static_cast<bfloat16*>(dw) + at + r * inputs : nullptr;
    }
    gradient_.code().finish({sums, columns, nullptr, false, to});
  }

  int threads_ = compute_threads();
  Scratch scratch_;
  DenseGradient gradient_;
  DType result_type_;
  bool bias_;
};

}  // namespace

KernelChoice make_dense_backward_weights(const KernelRequest& request, Tiles tiles) {
  const ValueType &x = request.inputs[0].type, &dy = request.inputs[1].type, &dw = request.outputs[0].type;
  if (auto refusal = refuse_tiles(tiles)) return *refusal;
  if (auto refusal = refuse_types({&x, &dy}, {&dw})) return *refusal;
  std::optional<DType> bias;
  if (request.outputs.size() == 2) {
    if (auto refusal = refuse_types({}, {&request.outputs[1].type})) return *refusal;
    bias = request.outputs[1].type.dtype;
  }
  auto kernel = std::make_unique<DenseBackwardWeightsKernel>(dense_of(x, dw), false, tiles, dw.dtype, bias);
  describe(*kernel, request, tiles);
  return kernel;
}

KernelChoice make_halves_dense_backward_weights(const KernelRequest& request, Tiles tiles) {
  const ValueType &x = request.inputs[0].type, &dy = request.inputs[1].type, &dw = request.outputs[0].type;
  if (auto refusal = refuse_tiles(tiles)) return *refusal;
  if (auto refusal = refuse_halves({&x, &dy, &dw}, kTileDepth)) return *refusal;
  auto kernel = std::make_unique<DenseBackwardWeightsKernel>(
      dense_of(x, dw), true, tiles, DType::f32, request.outputs.size() == 2 ? std::optional(DType::f32) : std::nullopt);
  name_halves(*kernel, request, tiles);
  return kernel;
}

}  // namespace ridgeline::device::tiles
