#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/pool/pooled_node.h"
#include "ridgeline/device/cpu/tiles/correlation.h"
#include "ridgeline/device/cpu/tiles/on_tiles.h"

namespace ridgeline::device::tiles {
namespace {

// Of conv2d, or with `pool` of conv2d_max_pool.
class ForwardKernel final : public Kernel {
 public:
  ForwardKernel(const Convolution& convolution, const WeightsForm& form, bool patches, Tiles tiles, bool relu,
                const std::optional<PoolGeometry>& pool)
      : filters_(convolution.result.channels),
        relu_(relu),
        bias_at_(scratch_.reserve(filters_ + kBlock)),
        correlation_(forward_correlation(convolution), form, patches, tiles, scratch_, false, pool) {
    scratch_bytes = scratch_.bytes();
    if (pooled()) flops_share = pooled()->share();
  }

  const std::optional<PooledItems>& pooled() const { return correlation_.pooled(); }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    float* const scratch = static_cast<float*>(a.scratch);
    const float* bias = nullptr;
    if (bias_type) {
      widen_bias(a.inputs[2], *bias_type, filters_, scratch + bias_at_);
      bias = scratch + bias_at_;
    }
    correlation_.run(input<bfloat16>(a, 0), input<bfloat16>(a, 1), output<bfloat16>(a, 0),
                     {bias, relu_, addend ? input<bfloat16>(a, 3) : nullptr}, scratch,
                     pooled() ? output<std::uint8_t>(a, 1) : nullptr);
  }

  std::optional<DType> bias_type;
  bool addend = false;

 private:
  int threads_ = compute_threads();
  std::int64_t filters_;
  bool relu_;
  Scratch scratch_;
  std::int64_t bias_at_;
  CorrelationCode correlation_;
};

// Over y, the convolution's result.
KernelChoice forward_kernel(const KernelRequest& request, const ValueType& y, const std::optional<PoolGeometry>& pool,
                            Tiles tiles) {
  const ValueType &x = request.inputs[0].type, &w = request.inputs[1].type;
  if (auto refusal = refuse_tiles(tiles)) return *refusal;
  if (auto refusal = refuse_types({&x, &w, &y}, {})) return *refusal;
  const bool bias = request.inputs.size() > 2;
  if (bias) {
    if (auto refusal = refuse_types({}, {&request.inputs[2].type})) return *refusal;
  }
  const Convolution c = convolution_of(request, x, w, y);
  if (auto refusal = refuse_groups(c)) return *refusal;
  if (auto refusal = pool ? refuse_pooled(c) : std::nullopt) return *refusal;
  const bool patches = Patches::wanted(c.group_channels()) && c.taps() > 1;
  const WeightsForm form{c.groups, c.group_filters(), patches ? 1 : c.taps(),
                         patches ? c.taps() * c.group_channels() : c.group_channels()};
  auto kernel = std::make_unique<ForwardKernel>(c, form, patches, tiles,
                                                request.node.attributes.string("activation") == "relu", pool);
  if (auto refusal = pool ? refuse_overlap(*kernel->pooled()) : std::nullopt) return *refusal;
  if (bias) kernel->bias_type = request.inputs[2].type.dtype;
  kernel->addend = request.inputs.size() == 4;
  describe(*kernel, request, tiles);
  kernel->input_layouts.resize(request.inputs.size());
  kernel->input_layouts[1] = weights_layout(form, tiles);
  kernel->output_layouts.resize(request.outputs.size());
  return kernel;
}

}  // namespace

KernelChoice make_forward(const KernelRequest& request, Tiles tiles) {
  return forward_kernel(request, request.outputs[0].type, std::nullopt, tiles);
}

KernelChoice make_pooled_forward(const KernelRequest& request, Tiles tiles) {
  const PooledNode node(request);
  return forward_kernel(request, node.image, node.pool, tiles);
}

}  // namespace ridgeline::device::tiles
