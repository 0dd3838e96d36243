#include "ridgeline/device/cpu/onednn/common.h"
#include "ridgeline/graph/op/window.h"

namespace ridgeline::device {
namespace {

using Dims = dnnl::memory::dims;
using Argument = OnednnKernel::Argument;
constexpr auto kDirect = dnnl::algorithm::convolution_direct;

struct Convolution {
  Desc image, plain_weights, result;
  Desc bias_desc;
  DType dtype;  // of the operands
  Dims stride, dilation, low, high;
  Window window;
  std::int64_t group_channels;

  // Of a node over image [N,H,W,C], weights [K,R,S,C/groups] and result [N,OH,OW,K].
  Convolution(const KernelRequest& request, const ValueType& x, const ValueType& w, const ValueType& y)
      : image(activation_desc(x)),
        plain_weights(convolution_weights_desc(w, request.node.attributes.integer("groups"))),
        result(activation_desc(y)),
        bias_desc(vector_desc(ValueType{bias_type(request), {w.shape[0]}})),
        dtype(request.inputs[0].type.dtype),
        window(window_of(request.def.name, request.node.attributes, w.shape[1], w.shape[2])),
        group_channels(w.shape[3]) {
    stride = {window.stride[0], window.stride[1]};
    dilation = {window.dilation[0] - 1, window.dilation[1] - 1};  // oneDNN counts the gaps
    low = {window.pad_before[0], window.pad_before[1]};
    high = {window.pad_after[0], window.pad_after[1]};
  }

  // Of the bias or its gradient, the third operand or the second result.
  static DType bias_type(const KernelRequest& request) {
    if (request.inputs.size() >= 3) return request.inputs[2].type.dtype;
    return request.outputs.size() == 2 ? request.outputs[1].type.dtype : DType::f32;
  }

  dnnl::convolution_forward::primitive_desc forward(const Desc& weights, const ForwardEnding& ending) const {
    const dnnl::primitive_attr attributes = ending.attributes(result);
    const auto kind = dnnl::prop_kind::forward_training;
    if (ending.bias) {
      return {onednn_engine(), kind,     kDirect, image, weights,    bias_desc, result,
              stride,          dilation, low,     high,  attributes, true};
    }
    return {onednn_engine(), kind, kDirect, image, weights, result, stride, dilation, low, high, attributes, true};
  }
  // The forward descriptor that backward ones need; it has one type, though results may be wider.
  dnnl::convolution_forward::primitive_desc hint() const {
    return {onednn_engine(),
            dnnl::prop_kind::forward_training,
            kDirect,
            of_type(image, dtype),
            any_layout(of_type(plain_weights, dtype)),
            of_type(result, dtype),
            stride,
            dilation,
            low,
            high,
            user_scratchpad(),
            true};
  }

  dnnl::convolution_backward_data::primitive_desc backward_data(const Desc& weights) const {
    return {onednn_engine(), kDirect,           image, weights, result, stride, dilation, low, high,
            hint(),          user_scratchpad(), true};
  }

  dnnl::convolution_backward_weights::primitive_desc backward_weights(const Desc& weights, bool bias) const {
    dnnl::convolution_backward_weights::primitive_desc desc =
        bias ? dnnl::convolution_backward_weights::primitive_desc(onednn_engine(), kDirect, image, weights, bias_desc,
                                                                  result, stride, dilation, low, high, hint(),
                                                                  user_scratchpad(), true)
             : dnnl::convolution_backward_weights::primitive_desc(onednn_engine(), kDirect, image, weights, result,
                                                                  stride, dilation, low, high, hint(),
                                                                  user_scratchpad(), true);
    // uxlfoundation/oneDNN#6035: the strided 1x1 kernels write out of bounds when a group has fewer channels than a
    // block.
    // (Asking for the next implementation instead can crash inside the library, so the reference takes these.)
    const bool strided = stride[0] > 1 || stride[1] > 1;
    if (desc && strided && group_channels < 16 && std::string(desc.impl_info_str()).find("1x1") != std::string::npos) {
      throw dnnl::error(dnnl_unimplemented, "only a faulty strided 1x1 implementation");
    }
    return desc;
  }
};

}  // namespace

KernelChoice make_onednn_conv2d(const KernelRequest& request) {
  return onednn_product(request, [&]() -> KernelChoice {
    const Convolution conv(request, request.inputs[0].type, request.inputs[1].type, request.outputs[0].type);
    const ForwardEnding ending(request);
    const auto choice = choose_weights(
        request.inputs[1], conv.plain_weights, [&](const Desc& weights) { return conv.forward(weights, ending); },
        [](const auto& desc) { return desc.weights_desc(); });
    auto kernel = std::make_unique<OnednnKernel>("conv2d", choice.primitive_desc.impl_info_str());
    std::vector<Argument> arguments = {{DNNL_ARG_SRC, conv.image, Argument::input, 0},
                                       {DNNL_ARG_WEIGHTS, choice.weights, Argument::input, 1},
                                       {DNNL_ARG_DST, conv.result, Argument::output, 0}};
    ending.add_arguments(conv.bias_desc, conv.result, arguments);
    kernel->add(dnnl::convolution_forward(choice.primitive_desc), choice.primitive_desc.scratchpad_desc(), arguments);
    kernel->input_layouts.resize(request.inputs.size());
    kernel->input_layouts[1] = layout_of(choice.weights, conv.plain_weights);
    kernel->output_layouts.resize(1);
    return kernel;
  });
}

KernelChoice make_onednn_conv2d_bwd_data(const KernelRequest& request) {
  if (request.inputs.size() > 2) return Refusal{"a gate"};
  return onednn_product(request, [&]() -> KernelChoice {
    const Convolution conv(request, request.outputs[0].type, request.inputs[1].type, request.inputs[0].type);
    const auto choice = choose_weights(
        request.inputs[1], conv.plain_weights, [&](const Desc& weights) { return conv.backward_data(weights); },
        [](const auto& desc) { return desc.weights_desc(); });
    auto kernel = std::make_unique<OnednnKernel>("conv2d_bwd_data", choice.primitive_desc.impl_info_str());
    kernel->add(dnnl::convolution_backward_data(choice.primitive_desc), choice.primitive_desc.scratchpad_desc(),
                {{DNNL_ARG_DIFF_DST, conv.result, Argument::input, 0},
                 {DNNL_ARG_WEIGHTS, choice.weights, Argument::input, 1},
                 {DNNL_ARG_DIFF_SRC, conv.image, Argument::output, 0}});
    kernel->input_layouts = {Layout(), layout_of(choice.weights, conv.plain_weights)};
    kernel->output_layouts.resize(1);
    return kernel;
  });
}

KernelChoice make_onednn_conv2d_bwd_weights(const KernelRequest& request) {
  return onednn_product(request, [&]() -> KernelChoice {
    const Convolution conv(request, request.inputs[0].type, request.outputs[0].type, request.inputs[1].type);
    const bool bias = request.outputs.size() == 2;
    const auto choice = choose_weights(
        request.outputs[0], conv.plain_weights,
        [&](const Desc& weights) { return conv.backward_weights(weights, bias); },
        [](const auto& desc) { return desc.diff_weights_desc(); });
    auto kernel = std::make_unique<OnednnKernel>("conv2d_bwd_weights", choice.primitive_desc.impl_info_str());
    add_weights_gradient(*kernel, request, conv.plain_weights, choice.weights, [&](const Argument& gradient) {
      std::vector<Argument> arguments = {{DNNL_ARG_SRC, conv.image, Argument::input, 0},
                                         {DNNL_ARG_DIFF_DST, conv.result, Argument::input, 1},
                                         gradient};
      if (bias) arguments.push_back({DNNL_ARG_DIFF_BIAS, conv.bias_desc, Argument::output, 1});
      kernel->add(dnnl::convolution_backward_weights(choice.primitive_desc), choice.primitive_desc.scratchpad_desc(),
                  arguments);
    });
    return kernel;
  });
}

}  // namespace ridgeline::device
