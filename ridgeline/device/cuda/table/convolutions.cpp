#include "ridgeline/device/cuda/table/entries.h"
#include "ridgeline/device/cuda/table/launched_kernel.h"
#include "ridgeline/graph/op/window.h"

namespace ridgeline::cuda {
namespace {

// The convolution of a node: shapes of image, filter [K,R,S,C/groups] and result.
DirectShape direct_shape_of(const KernelRequest& request, const Shape& image, const Shape& filter, const Shape& y) {
  const Window window = window_of(request.node.op, request.node.attributes, filter[1], filter[2]);
  return {.type = request.inputs[0].type.dtype,
          .result = request.outputs[0].type.dtype,
          .n = image[0],
          .h = image[1],
          .w = image[2],
          .c = image[3],
          .oh = y[1],
          .ow = y[2],
          .k = filter[0],
          .r = filter[1],
          .s = filter[2],
          .stride_h = window.stride[0],
          .stride_w = window.stride[1],
          .top = window.pad_before[0],
          .left = window.pad_before[1],
          .dilation_h = window.dilation[0],
          .dilation_w = window.dilation[1],
          .groups = request.node.attributes.integer("groups")};
}

DirectShape forward_shape(const KernelRequest& request) {
  return direct_shape_of(request, request.inputs[0].type.shape, request.inputs[1].type.shape,
                         request.outputs[0].type.shape);
}

DirectShape data_shape(const KernelRequest& request) {
  return direct_shape_of(request, request.outputs[0].type.shape, request.inputs[1].type.shape,
                         request.inputs[0].type.shape);
}

DirectShape weights_shape(const KernelRequest& request) {
  return direct_shape_of(request, request.inputs[0].type.shape, request.outputs[0].type.shape,
                         request.inputs[1].type.shape);
}

constexpr const char* kNoFirstLayer = "not a plain convolution of bf16 or f16 over up to four channels";

KernelChoice make_direct_forward(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  return launched(
      request, "direct",
      [shape = forward_shape(request), epilogue = NodeEpilogue(request)](LaunchSink sink, const KernelArguments& a) {
        direct_convolution(sink, shape, a.inputs[0], a.inputs[1], epilogue.of(a), a.outputs[0]);
      });
}

KernelChoice make_depthwise_forward(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const DirectShape shape = forward_shape(request);
  if (!is_depthwise(shape) || request.inputs.size() == 4) return Refusal{"not a plain depthwise convolution of 3x3"};
  if (shape.result != shape.type) return Refusal{"a result of another type than the operands'"};
  return launched(request, "depthwise",
                  [shape, epilogue = NodeEpilogue(request)](LaunchSink sink, const KernelArguments& a) {
                    depthwise(sink, shape, a.inputs[0], a.inputs[1], epilogue.of(a), a.outputs[0]);
                  });
}

KernelChoice make_first_layer(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const DirectShape shape = forward_shape(request);
  if (!is_first_layer(shape) || request.inputs.size() == 4) return Refusal{kNoFirstLayer};
  if (shape.result != shape.type) return Refusal{"a result of another type than the operands'"};
  auto kernel = launched(request, "first_layer",
                         [shape, epilogue = NodeEpilogue(request)](LaunchSink sink, const KernelArguments& a) {
                           first_layer(sink, shape, a.inputs[0], a.inputs[1], epilogue.of(a), a.outputs[0], a.scratch);
                         });
  kernel->scratch_bytes = first_layer_scratch(shape);
  kernel->products = shape.type;
  return kernel;
}

KernelChoice make_direct_data(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const bool gate = request.inputs.size() == 3;
  return launched(request, "direct", [shape = data_shape(request), gate](LaunchSink sink, const KernelArguments& a) {
    direct_data_gradient(sink, shape, a.inputs[0], a.inputs[1], gate ? a.inputs[2] : nullptr, a.outputs[0]);
  });
}

KernelChoice make_depthwise_data(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const DirectShape shape = data_shape(request);
  if (!is_depthwise(shape)) return Refusal{"not a plain depthwise convolution of 3x3"};
  if (shape.result != shape.type) return Refusal{"a result of another type than the operands'"};
  const bool gate = request.inputs.size() == 3;
  return launched(request, "depthwise", [shape, gate](LaunchSink sink, const KernelArguments& a) {
    depthwise_data_gradient(sink, shape, a.inputs[0], a.inputs[1], gate ? a.inputs[2] : nullptr, a.outputs[0]);
  });
}

// The gradient of the weights by `give`, and that of the bias, where the node has one, by sums of columns.
KernelChoice weights_and_bias(const KernelRequest& request, std::string_view name, std::size_t scratch,
                              std::function<void(LaunchSink, const KernelArguments&)> give) {
  const bool bias = request.node.attributes.boolean("bias");
  const ValueType dy = request.inputs[1].type;
  const std::int64_t channels = dy.shape[3], rows = dy.shape.elements() / std::max<std::int64_t>(channels, 1);
  const DType bias_type = bias ? request.outputs[1].type.dtype : DType::f32;
  auto kernel = launched(request, name, [=, give = std::move(give)](LaunchSink sink, const KernelArguments& a) {
    give(sink, a);
    if (bias) column_sums(sink, dy.dtype, a.inputs[1], rows, channels, 1, bias_type, a.outputs[1], a.scratch);
  });
  // Both use the scratch, one after the other.
  kernel->scratch_bytes = std::max(scratch, bias ? column_sums_scratch(dy.dtype, rows, channels) : 0);
  return kernel;
}

KernelChoice make_direct_weights(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  return weights_and_bias(request, "direct", 0,
                          [shape = weights_shape(request)](LaunchSink sink, const KernelArguments& a) {
                            direct_weight_gradient(sink, shape, a.inputs[0], a.inputs[1], a.outputs[0]);
                          });
}

KernelChoice make_depthwise_weights(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const DirectShape shape = weights_shape(request);
  if (!is_depthwise(shape)) return Refusal{"not a plain depthwise convolution of 3x3"};
  return weights_and_bias(request, "depthwise", depthwise_weight_gradient_scratch(shape),
                          [shape](LaunchSink sink, const KernelArguments& a) {
                            depthwise_weight_gradient(sink, shape, a.inputs[0], a.inputs[1], a.outputs[0], a.scratch);
                          });
}

KernelChoice make_first_layer_weights(const KernelRequest& request) {
  if (too_large(request)) return refuse_size();
  const DirectShape shape = weights_shape(request);
  if (!is_first_layer(shape)) return Refusal{kNoFirstLayer};
  auto kernel = weights_and_bias(request, "first_layer", first_layer_gradient_scratch(shape),
                                 [shape](LaunchSink sink, const KernelArguments& a) {
                                   first_layer_gradient(sink, shape, a.inputs[0], a.inputs[1], a.outputs[0], a.scratch);
                                 });
  std::get<std::unique_ptr<Kernel>>(kernel)->products = shape.type;
  return kernel;
}

constexpr KernelEntry kConvolutions[] = {
    own_entry("conv2d", "depthwise", make_depthwise_forward),
    tensor_core_entry("conv2d", "first_layer", make_first_layer),
    library_entry("conv2d", "cudnn_tf32", make_library_convolution, "tf32"),
    library_entry("conv2d", "cudnn", make_library_convolution),
    own_entry("conv2d", "direct", make_direct_forward),
    own_entry("conv2d_bwd_data", "depthwise", make_depthwise_data),
    library_entry("conv2d_bwd_data", "cudnn_tf32", make_library_convolution, "tf32"),
    library_entry("conv2d_bwd_data", "cudnn", make_library_convolution),
    own_entry("conv2d_bwd_data", "direct", make_direct_data),
    own_entry("conv2d_bwd_weights", "depthwise", make_depthwise_weights),
    tensor_core_entry("conv2d_bwd_weights", "first_layer", make_first_layer_weights),
    library_entry("conv2d_bwd_weights", "cudnn_tf32", make_library_convolution, "tf32"),
    library_entry("conv2d_bwd_weights", "cudnn", make_library_convolution),
    own_entry("conv2d_bwd_weights", "direct", make_direct_weights),
};

}  // namespace

std::span<const KernelEntry> convolution_entries() { return kConvolutions; }

}  // namespace ridgeline::cuda
