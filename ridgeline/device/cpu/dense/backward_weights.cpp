#include "hwy/cache_control.h"
#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/dense/gradient.h"
#include "ridgeline/device/cpu/sum/column_sums.h"

namespace ridgeline::device {
namespace dense {
namespace {

// dw = dy^T x: strips are computed in the second-level cache and written from there with non-temporal stores.
template <class Value>
class DenseBackwardWeights final : public Kernel {
 public:
  DenseBackwardWeights(const Dense& d, bool bias) : dense_(d), bias_(bias), gradient_(d, scratch_) {
    strip_floats_ = Gradient::kStrip * gradient_.pitch();
    strips_at_ = scratch_.reserve(threads_ * strip_floats_);
    scratch_bytes = scratch_.bytes();
    name = own_name("dense_bwd_weights of rows");
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    const Value* const dy = input<Value>(a, 1);
    if (bias_) sum_columns(dy, dense_.outputs, dense_.rows, dense_.outputs, output<float>(a, 1));
    gradient_.prepare(input<Value>(a, 0), dy, scratch);
    gradient_.for_each_part([&](std::int64_t range, std::int64_t first, std::int64_t outputs, int thread) {
      float* const strip = scratch + strips_at_ + thread * strip_floats_;
      const std::int64_t at = range * gradient_.range(), n = std::min(gradient_.range(), dense_.inputs - at);
      for (std::int64_t k = first; k < first + outputs; k += Gradient::kStrip) {
        const std::int64_t rows = std::min(Gradient::kStrip, first + outputs - k);
        gradient_.multiply(k, rows, range, scratch, strip, {});
        for (std::int64_t row = 0; row < rows; ++row)
          code_.stream(strip + row * gradient_.pitch(), n, output<float>(a, 0) + (k + row) * dense_.inputs + at);
      }
      hwy::FlushStream();
    });
  }

 private:
  int threads_ = compute_threads();
  const ProductCode& code_ = product_code();
  Dense dense_;
  bool bias_;
  Scratch scratch_;
  Gradient gradient_;
  std::int64_t strip_floats_, strips_at_;
};

}  // namespace
}  // namespace dense

KernelChoice make_rows_dense_bwd_weights(const KernelRequest& request) {
  const dense::Dense d(request.inputs[0].type, request.outputs[0].type);
  const KernelOperand& x = request.inputs[0];
  if (auto refusal = d.refusal(request, {&request.outputs[0]}, {&x, &request.inputs[1]})) return *refusal;
  for (const KernelOperand& result : request.outputs) {
    if (result.type.dtype != DType::f32) return Refusal{"gradients that are not f32"};
  }
  return value_kernel<dense::DenseBackwardWeights>(x.type.dtype, d, request.outputs.size() == 2);
}

}  // namespace ridgeline::device
