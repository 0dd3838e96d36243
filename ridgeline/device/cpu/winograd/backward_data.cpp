#include <algorithm>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/winograd/correlation.h"
#include "ridgeline/device/cpu/winograd/weights.h"

namespace ridgeline::device::winograd {
namespace {

// dx is the correlation of dy with the filters rotated by 180 degrees.
template <class Pixel>
class BackwardDataKernel final : public Kernel {
 public:
  BackwardDataKernel(const Task& task, const KernelRequest& request)
      : has_gate_(request.inputs.size() == 3), parts_(task.parts<Part>(scratch_)) {
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    for (const Part& part : parts_) {
      part.weights.turned(input<Pixel>(a, 1), scratch + part.transformed);
      part.correlation.run(input<Pixel>(a, 0), scratch + part.transformed, output<Pixel>(a, 0),
                           {.gate = has_gate_ ? input<Pixel>(a, 2) : nullptr}, scratch);
    }
  }

 private:
  struct Part {
    Part(const Convolution& convolution, const Region& region, Scratch& scratch)
        : weights(region.rule, convolution.filters(), convolution.channels()),
          transformed(scratch.reserve(weights.turned_form().floats())),
          correlation(convolution, region, Pass::backward_data, scratch) {}
    WeightsCode weights;
    std::int64_t transformed;
    CorrelationCode<Pixel> correlation;
  };

  int threads_ = compute_threads();
  bool has_gate_;
  Scratch scratch_;
  std::vector<Part> parts_;
};

// Whether each panel's results are in the cache when they are written, in all regions.
bool results_are_near(const Task& task) {
  const std::int64_t filters = task.convolution.filters();
  return std::all_of(task.regions.begin(), task.regions.end(), [&](const Region& region) {
    return panel_by_panel(region.rule, wanted_tiles({region.rule, filters, task.convolution.channels()}), filters);
  });
}

}  // namespace

std::variant<Task, Refusal> backward_data_task(const KernelRequest& request, const Wish& wish) {
  return task_of(request, Pass::backward_data, request.outputs[0].type, request.inputs[1].type, request.inputs[0].type,
                 wish);
}

KernelChoice make_backward_data(const KernelRequest& request, const Wish& wish) {
  const auto task = backward_data_task(request, wish);
  if (const auto* refusal = std::get_if<Refusal>(&task)) return *refusal;
  const Task& made = std::get<Task>(task);
  // Measured: otherwise the gate evicts so much of the second-level cache that it costs more than a separate relu_grad.
  if (request.inputs.size() == 3 && !results_are_near(made))
    return Refusal{"a gate, and so many channels that results are far from the core before they can pass it"};
  return kernel_for<BackwardDataKernel>(request, Pass::backward_data, made, request);
}

}  // namespace ridgeline::device::winograd
