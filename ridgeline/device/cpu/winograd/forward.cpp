#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/own/common.h"
#include "ridgeline/device/cpu/winograd/correlation.h"
#include "ridgeline/device/cpu/winograd/kernels.h"
#include "ridgeline/device/cpu/winograd/weights.h"

namespace ridgeline::device {
namespace winograd {
namespace {

// Values of Pixel; the bias is f32.
template <class Pixel>
class ForwardKernel final : public Kernel {
 public:
  ForwardKernel(const Task& task, const KernelRequest& request)
      : has_bias_(request.inputs.size() >= 3),
        has_addend_(request.inputs.size() == 4),
        relu_(request.node.attributes.string("activation") == "relu"),
        weights_(task.rule, task.convolution.filters(), task.convolution.channels()),
        blocks_(task.convolution.blocks()),
        blocked_(blocks_.stride > 1 ? scratch_.reserve(task.convolution.blocked_weights()) : -1),
        transformed_(scratch_.reserve(weights_.forward_form().floats())),
        correlation_(task, Pass::forward, scratch_) {
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    const Pixel* weights = input<Pixel>(a, 1);
    if (blocked_ >= 0) {
      auto* const in_blocks = reinterpret_cast<Pixel*>(scratch + blocked_);
      blocks_.to_blocks(weights, weights_.forward_form().columns, in_blocks);
      weights = in_blocks;
    }
    weights_.forward(weights, scratch + transformed_);
    correlation_.run(input<Pixel>(a, 0), scratch + transformed_, output<Pixel>(a, 0),
                     {.bias = has_bias_ ? input<float>(a, 2) : nullptr,
                      .addend = has_addend_ ? input<Pixel>(a, 3) : nullptr,
                      .relu = relu_},
                     scratch);
  }

 private:
  int threads_ = compute_threads();
  bool has_bias_;
  bool has_addend_;
  bool relu_;
  Scratch scratch_;
  WeightsCode weights_;
  Blocks blocks_;
  std::int64_t blocked_;  // the weights in blocks, where there are any
  std::int64_t transformed_;
  CorrelationCode<Pixel> correlation_;
};

}  // namespace

KernelChoice make_forward(const KernelRequest& request, const Wish& wish) {
  const auto task =
      task_of(request, Pass::forward, request.inputs[0].type, request.inputs[1].type, request.outputs[0].type, wish);
  if (const auto* refusal = std::get_if<Refusal>(&task)) return *refusal;
  if (request.inputs.size() >= 3 && request.inputs[2].type.dtype != DType::f32) {
    return Refusal{"bf16 bias: Winograd kernels add one of f32"};
  }
  return kernel_for<ForwardKernel>(request, Pass::forward, std::get<Task>(task), request);
}

}  // namespace winograd

KernelChoice make_winograd_conv2d(const KernelRequest& request) { return winograd::make_forward(request, {}); }

KernelChoice make_any_winograd_conv2d(const KernelRequest& request) {
  return winograd::make_forward(request, {.only_where_faster = false});
}

}  // namespace ridgeline::device
