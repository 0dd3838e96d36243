#include <algorithm>

#include "ridgeline/device/cpu/amx/dense.h"
#include "ridgeline/device/cpu/amx/kernels.h"
#include "ridgeline/device/cpu/own/common.h"

namespace ridgeline::device {
namespace amx {
namespace {

// dw = dy^T x. Both operands are small and brought into tiles once; what takes the time is to write the gradient, so
// that its sums go past the caches. An item is a range of inputs, whose part of x stays in the second cache, and a
// range of outputs.
class DenseBackwardWeightsKernel final : public Kernel {
 public:
  DenseBackwardWeightsKernel(const Dense& d, Tiles tiles, DType result, std::optional<DType> bias)
      : dense_(d),
        code_(tile_code(tiles)),
        result_type_(result),
        bias_type_(bias),
        steps_(blocks_of(d.rows, kTileDepth)),
        a_offsets_(even_offsets(steps_, kTileValues)) {
    dy_at_ = reserve_values(scratch_, round_up(d.outputs, kBlock) * steps_ * kTileDepth);
    x_at_ = reserve_values(scratch_, round_up(d.inputs, kBlock) * steps_ * kTileDepth);
    if (bias) bias_at_ = scratch_.reserve(d.outputs);
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    const bfloat16 *x = input<bfloat16>(a, 0), *dy = input<bfloat16>(a, 1);
    pack_gradient(dy, values_at(scratch, dy_at_));
    pack_rows(x, values_at(scratch, x_at_));
    if (bias_type_) sum_bias(dy, scratch + bias_at_, a.outputs[1]);
    const std::int64_t ranges = blocks_of(dense_.inputs, kInputs);
    for_each_item(ranges * blocks_of(dense_.outputs, kOutputs), [&](std::int64_t item, int) {
      const TileScope scope(code_);
      run_item(item / ranges * kOutputs, item % ranges * kInputs, values_at(scratch, dy_at_), values_at(scratch, x_at_),
               a.outputs[0]);
    });
  }

 private:
  static constexpr std::int64_t kInputs = 1024;  // of an item
  static constexpr std::int64_t kOutputs = 512;

  // Tiles of A: [16 outputs][step].
  void pack_gradient(const bfloat16* dy, bfloat16* to) const {
    parallel_for(blocks_of(dense_.outputs, kTileRows), 2, [&](std::int64_t begin, std::int64_t end) {
      const bfloat16* rows[kTileDepth];
      for (std::int64_t block = begin; block < end; ++block) {
        for (std::int64_t step = 0; step < steps_; ++step) {
          for (std::int64_t r = 0; r < kTileDepth; ++r) {
            const std::int64_t row = step * kTileDepth + r;
            rows[r] = row < dense_.rows ? dy + row * dense_.outputs : nullptr;
          }
          code_.transpose(rows, block * kTileRows, dense_.outputs - block * kTileRows,
                          to + (block * steps_ + step) * kTileValues);
        }
      }
    });
  }

  // Tiles of B: [16 inputs][step].
  void pack_rows(const bfloat16* x, bfloat16* to) const {
    parallel_for(steps_ * kTileRows, kTileRows, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t pair = begin; pair < end; ++pair) {
        const bfloat16* const even = 2 * pair < dense_.rows ? x + 2 * pair * dense_.inputs : nullptr;
        const bfloat16* const odd = 2 * pair + 1 < dense_.rows ? x + (2 * pair + 1) * dense_.inputs : nullptr;
        code_.interleave(even, odd, dense_.inputs, to + pair * kTileDepth, steps_ * kTileValues);
      }
    });
  }

  void sum_bias(const bfloat16* dy, float* sums, void* db) const {
    std::fill_n(sums, dense_.outputs, 0.0f);
    parallel_for(dense_.outputs, kTileColumns, [&](std::int64_t begin, std::int64_t end) {
      code_.add_rows(dy + begin, dense_.outputs, dense_.rows, end - begin, sums + begin);
    });
    if (*bias_type_ == DType::f32) {
      std::copy_n(sums, dense_.outputs, static_cast<float*>(db));
    } else {
      std::transform(sums, sums + dense_.outputs, static_cast<bfloat16*>(db), to_bfloat16);
    }
  }

  void run_item(std::int64_t first_output, std::int64_t first_input, const bfloat16* dy, const bfloat16* x,
                void* dw) const {
    const std::int64_t outputs = std::min(dense_.outputs, first_output + kOutputs);
    const std::int64_t inputs = std::min(dense_.inputs, first_input + kInputs);
    alignas(64) float sums[4 * kTileSums];
    TileProduct product{};
    product.a_row = kTileDepth;
    product.a_offsets = product.b_offsets = a_offsets_.data();
    product.steps = steps_;
    product.c = sums;
    for (std::int64_t k = first_output; k < outputs; k += kBlock) {
      const std::int64_t there = std::min(kBlock, outputs - k);
      product.a[0] = dy + k / kTileRows * steps_ * kTileValues;
      product.a[1] = product.a[0] + steps_ * kTileValues;
      for (std::int64_t c = first_input; c < inputs; c += kBlock) {
        const std::int64_t columns = std::min(kBlock, inputs - c);
        product.b[0] = x + c / kTileColumns * steps_ * kTileValues;
        product.b[1] = product.b[0] + steps_ * kTileValues;
        code_.multiply[there > kTileRows][columns > kTileColumns](product);
        for (std::int64_t row = 0; row < there; row += kTileRows) {
          store(sums + row / kTileRows * 2 * kTileSums, std::min(kTileRows, there - row), columns,
                (k + row) * dense_.inputs + c, dw);
        }
      }
    }
  }

  void store(const float* sums, std::int64_t rows, std::int64_t columns, std::int64_t at, void* dw) const {
    if (result_type_ == DType::f32) {
      code_.store_sums(sums, rows, columns, static_cast<float*>(dw) + at, dense_.inputs);
      return;
    }
    bfloat16* to[kTileRows];
    for (std::int64_t r = 0; r < kTileRows; ++r) {
      to[r] = r < rows ? static_cast<bfloat16*>(dw) + at + r * dense_.inputs : nullptr;
    }
    code_.finish({sums, columns, nullptr, false, to});
  }

  int threads_ = compute_threads();
  Dense dense_;
  const TileCode& code_;
  DType result_type_;
  std::optional<DType> bias_type_;
  std::int64_t steps_;
  std::vector<std::int64_t> a_offsets_;
  Scratch scratch_;
  std::int64_t dy_at_, x_at_, bias_at_ = -1;
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
  auto kernel = std::make_unique<DenseBackwardWeightsKernel>(dense_of(x, dw), tiles, dw.dtype, bias);
  kernel->name = kernel_name(request, tiles);
  return kernel;
}

}  // namespace amx

KernelChoice make_amx_dense_bwd_weights(const KernelRequest& request) {
  return amx::make_dense_backward_weights(request, amx::Tiles::amx);
}

}  // namespace ridgeline::device
