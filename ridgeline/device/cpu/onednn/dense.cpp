#include "ridgeline/device/cpu/onednn/common.h"

namespace ridgeline::device {
namespace {

using Argument = OnednnKernel::Argument;

// x [N,C], w [K,C], y [N,K].
struct Product {
  Desc x, plain_weights, y;
  Desc bias_desc;
  DType dtype;  // of the operands

  Product(const KernelRequest& request, const ValueType& x_type, const ValueType& w_type, const ValueType& y_type)
      : x(activation_desc(x_type)),
        plain_weights(activation_desc(w_type)),
        y(activation_desc(y_type)),
        bias_desc(vector_desc(ValueType{bias_type(request), {w_type.shape[0]}})),
        dtype(request.inputs[0].type.dtype) {}

  // Of the bias or its gradient, the third operand or the second result.
  static DType bias_type(const KernelRequest& request) {
    if (request.inputs.size() >= 3) return request.inputs[2].type.dtype;
    return request.outputs.size() == 2 ? request.outputs[1].type.dtype : DType::f32;
  }

  dnnl::inner_product_forward::primitive_desc forward(const Desc& weights, const ForwardEnding& ending) const {
    const dnnl::primitive_attr attributes = ending.attributes(y);
    const auto kind = dnnl::prop_kind::forward_training;
    if (ending.bias) return {onednn_engine(), kind, x, weights, bias_desc, y, attributes, true};
    return {onednn_engine(), kind, x, weights, y, attributes, true};
  }
  // Of one type: results of backward passes may be wider.
  dnnl::inner_product_forward::primitive_desc hint() const {
    return {onednn_engine(),
            dnnl::prop_kind::forward_training,
            of_type(x, dtype),
            any_layout(of_type(plain_weights, dtype)),
            of_type(y, dtype),
            user_scratchpad(),
            true};
  }
  dnnl::inner_product_backward_data::primitive_desc backward_data(const Desc& weights) const {
    return {onednn_engine(), x, weights, y, hint(), user_scratchpad(), true};
  }
  dnnl::inner_product_backward_weights::primitive_desc backward_weights(const Desc& weights, bool bias) const {
    if (bias) return {onednn_engine(), x, weights, bias_desc, y, hint(), user_scratchpad(), true};
    return {onednn_engine(), x, weights, y, hint(), user_scratchpad(), true};
  }
};

}  // namespace

KernelChoice make_onednn_dense(const KernelRequest& request) {
  return onednn_product(request, [&]() -> KernelChoice {
    const Product product(request, request.inputs[0].type, request.inputs[1].type, request.outputs[0].type);
    const ForwardEnding ending(request);
    const auto choice = choose_weights(
        request.inputs[1], product.plain_weights, [&](const Desc& weights) { return product.forward(weights, ending); },
        [](const auto& desc) { return desc.weights_desc(); });
    auto kernel = std::make_unique<OnednnKernel>("dense", choice.primitive_desc.impl_info_str());
    std::vector<Argument> arguments = {{DNNL_ARG_SRC, product.x, Argument::input, 0},
                                       {DNNL_ARG_WEIGHTS, choice.weights, Argument::input, 1},
                                       {DNNL_ARG_DST, product.y, Argument::output, 0}};
    ending.add_arguments(product.bias_desc, product.y, arguments);
    kernel->add(dnnl::inner_product_forward(choice.primitive_desc), choice.primitive_desc.scratchpad_desc(), arguments);
    kernel->input_layouts.resize(request.inputs.size());
    kernel->input_layouts[1] = layout_of(choice.weights, product.plain_weights);
    kernel->output_layouts.resize(1);
    return kernel;
  });
}

KernelChoice make_onednn_dense_bwd_data(const KernelRequest& request) {
  return onednn_product(request, [&]() -> KernelChoice {
    const Product product(request, request.outputs[0].type, request.inputs[1].type, request.inputs[0].type);
    const auto choice = choose_weights(
        request.inputs[1], product.plain_weights, [&](const Desc& weights) { return product.backward_data(weights); },
        [](const auto& desc) { return desc.weights_desc(); });
    auto kernel = std::make_unique<OnednnKernel>("dense_bwd_data", choice.primitive_desc.impl_info_str());
    kernel->add(dnnl::inner_product_backward_data(choice.primitive_desc), choice.primitive_desc.scratchpad_desc(),
                {{DNNL_ARG_DIFF_DST, product.y, Argument::input, 0},
                 {DNNL_ARG_WEIGHTS, choice.weights, Argument::input, 1},
                 {DNNL_ARG_DIFF_SRC, product.x, Argument::output, 0}});
    kernel->input_layouts = {Layout(), layout_of(choice.weights, product.plain_weights)};
    kernel->output_layouts.resize(1);
    return kernel;
  });
}

KernelChoice make_onednn_dense_bwd_weights(const KernelRequest& request) {
  return onednn_product(request, [&]() -> KernelChoice {
    const Product product(request, request.inputs[0].type, request.outputs[0].type, request.inputs[1].type);
    const bool bias = request.outputs.size() == 2;
    const auto choice = choose_weights(
        request.outputs[0], product.plain_weights,
        [&](const Desc& weights) { return product.backward_weights(weights, bias); },
        [](const auto& desc) { return desc.diff_weights_desc(); });
    auto kernel = std::make_unique<OnednnKernel>("dense_bwd_weights", choice.primitive_desc.impl_info_str());
    add_weights_gradient(*kernel, request, product.plain_weights, choice.weights, [&](const Argument& gradient) {
      std::vector<Argument> arguments = {
          {DNNL_ARG_SRC, product.x, Argument::input, 0}, {DNNL_ARG_DIFF_DST, product.y, Argument::input, 1}, gradient};
      if (bias) arguments.push_back({DNNL_ARG_DIFF_BIAS, product.bias_desc, Argument::output, 1});
      kernel->add(dnnl::inner_product_backward_weights(choice.primitive_desc), choice.primitive_desc.scratchpad_desc(),
                  arguments);
    });
    return kernel;
  });
}

}  // namespace ridgeline::device
