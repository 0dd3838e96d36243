#include "ridgeline/device/cpu/onednn/common.h"
#include "ridgeline/device/cpu/pool/pool_geometry.h"
#include "ridgeline/device/cpu/pool/pool_index.h"

namespace ridgeline::device {
namespace {

using Dims = dnnl::memory::dims;
using Argument = OnednnKernel::Argument;

struct Pooling {
  PoolGeometry geometry;
  Desc image, result;
  Dims stride, kernel, low, high;
  Dims dilation = {0, 0};

  Pooling(const KernelRequest& request, const ValueType& x, const ValueType& y)
      : geometry(PoolGeometry::of(request.node.attributes, x.shape, y.shape)),
        image(activation_desc(x)),
        result(activation_desc(y)),
        stride{geometry.sh, geometry.sw},
        kernel{geometry.kh, geometry.kw},
        low{geometry.top, geometry.left},
        high{geometry.bottom, geometry.right} {}

  dnnl::pooling_forward::primitive_desc forward(dnnl::algorithm algorithm) const {
    return {onednn_engine(),
            dnnl::prop_kind::forward_training,
            algorithm,
            image,
            result,
            stride,
            kernel,
            dilation,
            low,
            high,
            user_scratchpad()};
  }
  dnnl::pooling_backward::primitive_desc backward(dnnl::algorithm algorithm) const {
    return {onednn_engine(),    algorithm,        image, result, stride, kernel, dilation, low, high,
            forward(algorithm), user_scratchpad()};
  }
  // The library keeps the position of each maximum in a workspace; it can be our index only as plain bytes.
  bool workspace_is_index(const Desc& workspace) const {
    return workspace == Desc(result.get_dims(), dnnl::memory::data_type::u8, dnnl::memory::format_tag::nhwc);
  }
};

dnnl::algorithm average(const KernelRequest& request) {
  return request.node.attributes.boolean("count_include_pad") ? dnnl::algorithm::pooling_avg_include_padding
                                                              : dnnl::algorithm::pooling_avg_exclude_padding;
}

// The library's kernel writes wherever the index points.
class MaxPoolGradient final : public OnednnKernel {
 public:
  MaxPoolGradient(const PoolGeometry& geometry, const std::string& implementation)
      : OnednnKernel("max_pool_bwd", implementation), geometry_(geometry) {}
  void run(const KernelArguments& arguments) override {
    check_pool_index(geometry_, device::input<std::uint8_t>(arguments, 1));
    OnednnKernel::run(arguments);
  }

 private:
  PoolGeometry geometry_;
};

constexpr const char* kWorkspace = "the library's workspace is not a plain u8 index here";

}  // namespace

KernelChoice make_onednn_max_pool_bwd(const KernelRequest& request) {
  return onednn_choice(request, [&]() -> KernelChoice {
    const Pooling pool(request, request.outputs[0].type, request.inputs[0].type);
    const auto desc = pool.backward(dnnl::algorithm::pooling_max);
    if (!pool.workspace_is_index(desc.workspace_desc())) return Refusal{kWorkspace};
    own_name("pool_index");  // chooses the vector code
    auto kernel = std::make_unique<MaxPoolGradient>(pool.geometry, desc.impl_info_str());
    kernel->add(dnnl::pooling_backward(desc), desc.scratchpad_desc(),
                {{DNNL_ARG_DIFF_DST, pool.result, Argument::input, 0},
                 {DNNL_ARG_WORKSPACE, desc.workspace_desc(), Argument::input, 1},
                 {DNNL_ARG_DIFF_SRC, pool.image, Argument::output, 0}});
    return kernel;
  });
}

KernelChoice make_onednn_avg_pool(const KernelRequest& request) {
  return onednn_choice(request, [&]() -> KernelChoice {
    const Pooling pool(request, request.inputs[0].type, request.outputs[0].type);
    const auto desc = pool.forward(average(request));
    auto kernel = std::make_unique<OnednnKernel>("avg_pool", desc.impl_info_str());
    kernel->add(dnnl::pooling_forward(desc), desc.scratchpad_desc(),
                {{DNNL_ARG_SRC, pool.image, Argument::input, 0}, {DNNL_ARG_DST, pool.result, Argument::output, 0}});
    return kernel;
  });
}

KernelChoice make_onednn_avg_pool_bwd(const KernelRequest& request) {
  return onednn_choice(request, [&]() -> KernelChoice {
    const Pooling pool(request, request.outputs[0].type, request.inputs[0].type);
    const auto desc = pool.backward(average(request));
    auto kernel = std::make_unique<OnednnKernel>("avg_pool_bwd", desc.impl_info_str());
    kernel->add(
        dnnl::pooling_backward(desc), desc.scratchpad_desc(),
        {{DNNL_ARG_DIFF_DST, pool.result, Argument::input, 0}, {DNNL_ARG_DIFF_SRC, pool.image, Argument::output, 0}});
    return kernel;
  });
}

}  // namespace ridgeline::device
