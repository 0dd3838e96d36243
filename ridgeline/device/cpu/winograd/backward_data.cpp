#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/own/common.h"
#include "ridgeline/device/cpu/winograd/correlation.h"
#include "ridgeline/device/cpu/winograd/kernels.h"
#include "ridgeline/device/cpu/winograd/weights.h"

namespace ridgeline::device {
namespace winograd {
namespace {

// dx is the correlation of dy with the filters turned by half a turn.
template <class Pixel>
class BackwardDataKernel final : public Kernel {
 public:
  BackwardDataKernel(const Task& task, const KernelRequest& request)
      : has_gate_(request.inputs.size() == 3),
        weights_(task.rule, task.convolution.filters(), task.convolution.channels()),
        transformed_(scratch_.reserve(weights_.turned_form().floats())),
        correlation_(task, Pass::backward_data, scratch_) {
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    weights_.turned(input<Pixel>(a, 1), scratch + transformed_);
    correlation_.run(input<Pixel>(a, 0), scratch + transformed_, output<Pixel>(a, 0),
                     {.gate = has_gate_ ? input<Pixel>(a, 2) : nullptr}, scratch);
  }

 private:
  int threads_ = compute_threads();
  bool has_gate_;
  Scratch scratch_;
  WeightsCode weights_;
  std::int64_t transformed_;
  CorrelationCode<Pixel> correlation_;
};

}  // namespace

KernelChoice make_backward_data(const KernelRequest& request, const Wish& wish) {
  const auto task = task_of(request, Pass::backward_data, request.outputs[0].type, request.inputs[1].type,
                            request.inputs[0].type, wish);
  if (const auto* refusal = std::get_if<Refusal>(&task)) return *refusal;
  const Task& made = std::get<Task>(task);
  const WeightsForm form{made.rule, made.convolution.filters(), made.convolution.channels()};
  // Measured: what the gate then drives out of the second cache costs more than relu_grad by itself.
  if (request.inputs.size() == 3 && !panel_by_panel(made.rule, wanted_tiles(form), form.rows))
    return Refusal{"a gate, and so many channels that results are far from the core before they can pass it"};
  return kernel_for<BackwardDataKernel>(request, Pass::backward_data, made, request);
}

}  // namespace winograd

KernelChoice make_winograd_conv2d_bwd_data(const KernelRequest& request) {
  return winograd::make_backward_data(request, {});
}

KernelChoice make_any_winograd_conv2d_bwd_data(const KernelRequest& request) {
  return winograd::make_backward_data(request, {.only_where_faster = false});
}

}  // namespace ridgeline::device
