#include "ridgeline/device/cpu/own/common.h"
#include "ridgeline/device/cpu/tiles/correlation.h"
#include "ridgeline/device/cpu/tiles/kernels.h"

namespace ridgeline::device {
namespace tiles {
namespace {

class BackwardDataKernel final : public Kernel {
 public:
  BackwardDataKernel(const Convolution& convolution, const WeightsForm& form, Tiles tiles)
      : correlation_(backward_data_correlation(convolution), form, false, tiles, scratch_) {
    scratch_bytes = scratch_.bytes();
  }

  void run(const KernelArguments& a) override {
    const ComputeScope team(threads_);
    const Epilogue<bfloat16> epilogue{.gate = gate ? input<bfloat16>(a, 2) : nullptr};
    correlation_.run(input<bfloat16>(a, 0), input<bfloat16>(a, 1), output<bfloat16>(a, 0), epilogue,
                     static_cast<float*>(a.scratch));
  }

  bool gate = false;

 private:
  int threads_ = compute_threads();
  Scratch scratch_;
  CorrelationCode correlation_;
};

}  // namespace

KernelChoice make_backward_data(const KernelRequest& request, Tiles tiles) {
  const ValueType &dy = request.inputs[0].type, &w = request.inputs[1].type, &dx = request.outputs[0].type;
  if (auto refusal = refuse_tiles(tiles)) return *refusal;
  if (auto refusal = refuse_types({&dy, &w, &dx}, {})) return *refusal;
  const Convolution c = convolution_of(request, dx, w, dy);
  if (auto refusal = refuse_groups(c)) return *refusal;
  const WeightsForm form{c.groups, c.group_filters(), c.taps(), c.group_channels(), true};
  auto kernel = std::make_unique<BackwardDataKernel>(c, form, tiles);
  kernel->gate = request.inputs.size() == 3;
  kernel->name = kernel_name(request, tiles);
  kernel->input_layouts.resize(request.inputs.size());
  kernel->input_layouts[1] = weights_layout(form, tiles);
  kernel->output_layouts.resize(1);
  return kernel;
}

}  // namespace tiles

KernelChoice make_amx_conv2d_bwd_data(const KernelRequest& request) {
  return tiles::make_backward_data(request, tiles::Tiles::amx);
}

}  // namespace ridgeline::device
