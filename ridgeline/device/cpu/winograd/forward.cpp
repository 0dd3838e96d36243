#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/pool/pooled_node.h"
#include "ridgeline/device/cpu/winograd/forward_weights.h"
#include "ridgeline/device/cpu/winograd/pooled_correlation.h"

namespace ridgeline::device::winograd {
namespace {

bool with_relu(const KernelRequest& request) { return request.node.attributes.string("activation") == "relu"; }

// Values of Pixel; the bias is f32.
template <class Pixel>
class ForwardKernel final : public Kernel {
 public:
  ForwardKernel(const Task& task, const KernelRequest& request)
      : has_bias_(request.inputs.size() >= 3),
        has_addend_(request.inputs.size() == 4),
        relu_(with_relu(request)),
        parts_(task.parts<Part>(scratch_)) {
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    for (const Part& part : parts_) {
      const float* const weights = part.weights.make(input<Pixel>(a, 1), scratch);
      part.correlation.run(input<Pixel>(a, 0), weights, output<Pixel>(a, 0),
                           {.bias = has_bias_ ? input<float>(a, 2) : nullptr,
                            .addend = has_addend_ ? input<Pixel>(a, 3) : nullptr,
                            .relu = relu_},
                           scratch);
    }
  }

 private:
  struct Part {
    Part(const Convolution& convolution, const Region& region, Scratch& scratch)
        : weights(convolution, region.rule, scratch), correlation(convolution, region, Pass::forward, scratch) {}
    ForwardWeights<Pixel> weights;
    CorrelationCode<Pixel> correlation;
  };

  int threads_ = compute_threads();
  bool has_bias_;
  bool has_addend_;
  bool relu_;
  Scratch scratch_;
  std::vector<Part> parts_;
};

// The same, and pools the result.
template <class Pixel>
class PooledForwardKernel final : public Kernel {
 public:
  PooledForwardKernel(const Task& task, const KernelRequest& request, const PoolGeometry& pool)
      : has_bias_(request.inputs.size() == 3),
        relu_(with_relu(request)),
        weights_(task.convolution, task.regions.front().rule, scratch_),
        correlation_(task.convolution, task.regions.front(), pool, scratch_) {
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    const float* const weights = weights_.make(input<Pixel>(a, 1), scratch);
    correlation_.run(input<Pixel>(a, 0), weights, output<Pixel>(a, 0), output<std::uint8_t>(a, 1),
                     {.bias = has_bias_ ? input<float>(a, 2) : nullptr, .relu = relu_}, scratch);
  }

 private:
  int threads_ = compute_threads();
  bool has_bias_;
  bool relu_;
  Scratch scratch_;
  ForwardWeights<Pixel> weights_;
  PooledCorrelation<Pixel> correlation_;
};

// The node over image x, weights w and result y of the convolution.
std::variant<Task, Refusal> task_over(const KernelRequest& request, const ValueType& y, const Wish& wish) {
  auto task = task_of(request, Pass::forward, request.inputs[0].type, request.inputs[1].type, y, wish);
  if (std::holds_alternative<Task>(task) && request.inputs.size() >= 3 && request.inputs[2].type.dtype != DType::f32) {
    return Refusal{"bf16 bias: Winograd kernels add one of f32"};
  }
  return task;
}

}  // namespace

std::variant<Task, Refusal> forward_task(const KernelRequest& request, const Wish& wish) {
  return task_over(request, request.outputs[0].type, wish);
}

KernelChoice make_forward(const KernelRequest& request, const Wish& wish) {
  const auto task = forward_task(request, wish);
  if (const auto* refusal = std::get_if<Refusal>(&task)) return *refusal;
  return kernel_for<ForwardKernel>(request, Pass::forward, std::get<Task>(task), request);
}

KernelChoice make_pooled_forward(const KernelRequest& request, const Wish& wish) {
  const PooledNode node(request);
  const auto task = task_over(request, node.image, wish);
  if (const auto* refusal = std::get_if<Refusal>(&task)) return *refusal;
  // A thread processes complete images.
  const std::int64_t images = node.pool.n, threads = compute_threads();
  if (threads > 1 && images < 4 * threads) {
    return Refusal{std::to_string(images) + " images for " + std::to_string(threads) +
                   " threads: each should have some"};
  }
  const Task& made = std::get<Task>(task);
  if (made.regions.size() > 1) return Refusal{"tiles of two sizes: results are pooled in those of one"};
  const Region& region = made.regions.front();
  const Bands bands(made.convolution, region);
  if (!panel_by_panel(region.rule, bands.tiles, made.convolution.channels())) {
    return Refusal{"so many channels that results are far from the core before they can be pooled"};
  }
  return kernel_for<PooledForwardKernel>(request, Pass::forward, made, request, node.pool);
}

}  // namespace ridgeline::device::winograd
