#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/own/common.h"
#include "ridgeline/device/cpu/winograd/correlation.h"
#include "ridgeline/device/cpu/winograd/kernels.h"
#include "ridgeline/device/cpu/winograd/weights.h"

namespace ridgeline::device {
namespace winograd {
namespace {

class ForwardKernel final : public Kernel {
 public:
  ForwardKernel(const Task& task, bool relu)
      : relu_(relu),
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
    const float* weights = input<float>(a, 1);
    if (blocked_ >= 0) {
      blocks_.to_blocks(weights, weights_.forward_form().columns, scratch + blocked_);
      weights = scratch + blocked_;
    }
    weights_.forward(weights, scratch + transformed_);
    correlation_.run(input<float>(a, 0), scratch + transformed_, output<float>(a, 0),
                     {has_bias ? input<float>(a, 2) : nullptr, relu_}, scratch);
  }

  bool has_bias = false;

 private:
  int threads_ = compute_threads();
  bool relu_;
  Scratch scratch_;
  WeightsCode weights_;
  Blocks blocks_;
  std::int64_t blocked_;  // the weights in blocks, where there are any
  std::int64_t transformed_;
  CorrelationCode correlation_;
};

}  // namespace

KernelChoice make_forward(const KernelRequest& request, const Wish& wish) {
  const auto task =
      task_of(request, Pass::forward, request.inputs[0].type, request.inputs[1].type, request.outputs[0].type, wish);
  if (const auto* refusal = std::get_if<Refusal>(&task)) return *refusal;
  auto kernel =
      std::make_unique<ForwardKernel>(std::get<Task>(task), request.node.attributes.string("activation") == "relu");
  kernel->has_bias = request.inputs.size() == 3;
  kernel->name = kernel_name(request, std::get<Task>(task).rule);
  return kernel;
}

}  // namespace winograd

KernelChoice make_winograd_conv2d(const KernelRequest& request) { return winograd::make_forward(request, {}); }

KernelChoice make_any_winograd_conv2d(const KernelRequest& request) {
  return winograd::make_forward(request, {.only_where_faster = false});
}

}  // namespace ridgeline::device
