#include <optional>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/loop/loop_kernel.h"
#include "ridgeline/device/cpu/own/common.h"
#include "ridgeline/device/cpu/winograd/correlation.h"
#include "ridgeline/device/cpu/winograd/kernels.h"
#include "ridgeline/device/cpu/winograd/weights.h"
#include "ridgeline/graph/loop/text.h"

namespace ridgeline::device {
namespace winograd {
namespace {

class ForwardKernel final : public Kernel {
 public:
  ForwardKernel(const Task& task, const KernelRequest& request)
      : has_bias_(request.inputs.size() >= 3),
        relu_(request.node.attributes.string("activation") == "relu"),
        weights_(task.rule, task.convolution.filters(), task.convolution.channels()),
        blocks_(task.convolution.blocks()),
        blocked_(blocks_.stride > 1 ? scratch_.reserve(task.convolution.blocked_weights()) : -1),
        transformed_(scratch_.reserve(weights_.forward_form().floats())),
        correlation_(task, Pass::forward, scratch_) {
    scratch_bytes = scratch_.bytes();
    if (request.inputs.size() == 4) add_addend(request.outputs[0].type);
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
                     {has_bias_ ? input<float>(a, 2) : nullptr, relu_ && !sum_}, scratch);
    if (!sum_) return;
    void* const operands[] = {a.outputs[0], a.inputs[3]};
    sum_->run({operands, a.outputs, nullptr});
  }

 private:
  // The tiles are written without the addend, which a pass of its own adds: y = y + addend, then the activation.
  void add_addend(const ValueType& y) {
    const auto sum = loop::parse(relu_ ? "max(x0 + x1, 0)" : "x0 + x1");
    const ValueType operands[] = {y, y};
    const ValueType results[] = {y};
    sum_.emplace(compile_loop(sum, y.shape, operands, results), y.shape.elements(), results);
  }

  int threads_ = compute_threads();
  bool has_bias_;
  bool relu_;
  std::optional<LoopKernel> sum_;  // where there is an addend
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
  auto kernel = std::make_unique<ForwardKernel>(std::get<Task>(task), request);
  kernel->name = kernel_name(request, std::get<Task>(task).rule);
  kernel->flops_share = multiplications_share(std::get<Task>(task), Pass::forward);
  return kernel;
}

}  // namespace winograd

KernelChoice make_winograd_conv2d(const KernelRequest& request) { return winograd::make_forward(request, {}); }

KernelChoice make_any_winograd_conv2d(const KernelRequest& request) {
  return winograd::make_forward(request, {.only_where_faster = false});
}

}  // namespace ridgeline::device
