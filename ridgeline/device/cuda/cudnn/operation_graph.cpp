#include "ridgeline/device/cuda/cudnn/operation_graph.h"

#include <array>

#include "ridgeline/core/error.h"

namespace ridgeline::cuda::cudnn {
namespace {

// Every value of a program begins at a multiple of it.
constexpr std::int64_t kAlignment = 16;

// Logical N,C,H,W and the strides of row-major [N,H,W,C]; filters likewise, and vectors as [1,1,1,C].
struct Extents {
  std::array<std::int64_t, 4> dimensions, strides;
  explicit Extents(const Shape& shape) {
    RIDGELINE_CHECK(shape.rank() == 4 || shape.rank() == 1, "cuDNN is given images, filters and vectors");
    const bool image = shape.rank() == 4;
    const std::int64_t n = image ? shape[0] : 1, h = image ? shape[1] : 1, w = image ? shape[2] : 1;
    const std::int64_t c = image ? shape[3] : shape[0];
    dimensions = {n, c, h, w};
    strides = {h * w * c, 1, w * c, c};
  }
};

template <std::size_t N>
std::span<const std::int64_t> list(const std::array<std::int64_t, N>& values) {
  return values;
}

}  // namespace

OperationGraph::Tensor OperationGraph::value(const Shape& shape, DataType type, std::int64_t id) {
  return add_tensor(shape, type, id, false);
}

OperationGraph::Tensor OperationGraph::between(const Shape& shape, DataType type) {
  return add_tensor(shape, type, next_between_++, true);
}

OperationGraph::Tensor OperationGraph::add_tensor(const Shape& shape, DataType type, std::int64_t id, bool is_between) {
  const Extents extents(shape);
  Descriptor tensor(functions_, DescriptorType::tensor);
  tensor.set(Attribute::tensor_data_type, type);
  tensor.set(Attribute::tensor_dimensions, list(extents.dimensions));
  tensor.set(Attribute::tensor_strides, list(extents.strides));
  tensor.set(Attribute::tensor_id, id);
  tensor.set(Attribute::tensor_alignment, kAlignment);
  if (is_between) tensor.set(Attribute::tensor_is_virtual, true);
  tensor.finalize();
  tensors_.push_back(std::move(tensor));
  return tensors_.size() - 1;
}

Descriptor OperationGraph::convolution(const Window& window) {
  Descriptor descriptor(functions_, DescriptorType::convolution);
  descriptor.set(Attribute::convolution_compute_type, DataType::f32);
  descriptor.set(Attribute::convolution_mode, ConvolutionMode::cross_correlation);
  descriptor.set(Attribute::convolution_spatial_dimensions, std::int64_t{2});
  descriptor.set(Attribute::convolution_pre_paddings, list(window.pad_before));
  descriptor.set(Attribute::convolution_post_paddings, list(window.pad_after));
  descriptor.set(Attribute::convolution_strides, list(window.stride));
  descriptor.set(Attribute::convolution_dilations, list(window.dilation));
  descriptor.finalize();
  return descriptor;
}

void OperationGraph::add(Descriptor operation) {
  operation.finalize();
  operations_.push_back(std::move(operation));
}

void OperationGraph::convolution_forward(const Window& window, Tensor x, Tensor w, Tensor y) {
  Descriptor operation(functions_, DescriptorType::convolution_forward);
  operation.set(Attribute::forward_convolution, parts_.emplace_back(convolution(window)));
  operation.set(Attribute::forward_x, tensors_[x]);
  operation.set(Attribute::forward_w, tensors_[w]);
  operation.set(Attribute::forward_y, tensors_[y]);
  operation.set(Attribute::forward_alpha, 1.0f);
  operation.set(Attribute::forward_beta, 0.0f);
  add(std::move(operation));
}

void OperationGraph::convolution_backward_data(const Window& window, Tensor dy, Tensor w, Tensor dx) {
  Descriptor operation(functions_, DescriptorType::convolution_backward_data);
  operation.set(Attribute::data_convolution, parts_.emplace_back(convolution(window)));
  operation.set(Attribute::data_dy, tensors_[dy]);
  operation.set(Attribute::data_w, tensors_[w]);
  operation.set(Attribute::data_dx, tensors_[dx]);
  operation.set(Attribute::data_alpha, 1.0f);
  operation.set(Attribute::data_beta, 0.0f);
  add(std::move(operation));
}

void OperationGraph::convolution_backward_filter(const Window& window, Tensor x, Tensor dy, Tensor dw) {
  Descriptor operation(functions_, DescriptorType::convolution_backward_filter);
  operation.set(Attribute::filter_convolution, parts_.emplace_back(convolution(window)));
  operation.set(Attribute::filter_x, tensors_[x]);
  operation.set(Attribute::filter_dy, tensors_[dy]);
  operation.set(Attribute::filter_dw, tensors_[dw]);
  operation.set(Attribute::filter_alpha, 1.0f);
  operation.set(Attribute::filter_beta, 0.0f);
  add(std::move(operation));
}

Descriptor OperationGraph::pointwise_operation(PointwiseMode mode) {
  Descriptor descriptor(functions_, DescriptorType::pointwise);
  descriptor.set(Attribute::pointwise_mode, mode);
  descriptor.set(Attribute::pointwise_math_type, DataType::f32);
  descriptor.finalize();
  Descriptor operation(functions_, DescriptorType::pointwise_operation);
  operation.set(Attribute::pointwise_operation_descriptor, parts_.emplace_back(std::move(descriptor)));
  return operation;
}

void OperationGraph::pointwise(PointwiseMode mode, Tensor a, Tensor b, Tensor y) {
  Descriptor operation = pointwise_operation(mode);
  operation.set(Attribute::pointwise_operation_x, tensors_[a]);
  operation.set(Attribute::pointwise_operation_b, tensors_[b]);
  operation.set(Attribute::pointwise_operation_y, tensors_[y]);
  add(std::move(operation));
}

void OperationGraph::pointwise(PointwiseMode mode, Tensor a, Tensor y) {
  Descriptor operation = pointwise_operation(mode);
  operation.set(Attribute::pointwise_operation_x, tensors_[a]);
  operation.set(Attribute::pointwise_operation_y, tensors_[y]);
  add(std::move(operation));
}

void OperationGraph::relu_backward(Tensor dy, Tensor x, Tensor dx) {
  Descriptor operation = pointwise_operation(PointwiseMode::relu_backward);
  operation.set(Attribute::pointwise_operation_dy, tensors_[dy]);
  operation.set(Attribute::pointwise_operation_x, tensors_[x]);
  operation.set(Attribute::pointwise_operation_dx, tensors_[dx]);
  add(std::move(operation));
}

void OperationGraph::statistics(Tensor x, Tensor sum, Tensor sum_of_squares) {
  Descriptor operation(functions_, DescriptorType::statistics_operation);
  operation.set(Attribute::statistics_mode, StatisticsMode::sum_and_sum_of_squares);
  operation.set(Attribute::statistics_math_type, DataType::f32);
  operation.set(Attribute::statistics_x, tensors_[x]);
  operation.set(Attribute::statistics_sum, tensors_[sum]);
  operation.set(Attribute::statistics_sum_of_squares, tensors_[sum_of_squares]);
  add(std::move(operation));
}

const Descriptor& OperationGraph::finish(Handle handle) {
  RIDGELINE_CHECK(graph_.empty(), "an operation graph is finished once");
  Descriptor graph(functions_, DescriptorType::operation_graph);
  std::vector<RawDescriptor> operations;
  for (const Descriptor& operation : operations_) operations.push_back(operation.raw());
  graph.set(Attribute::graph_operations, AttributeType::descriptor, static_cast<std::int64_t>(operations.size()),
            operations.data());
  if (handle != nullptr) graph.set_handle(Attribute::graph_handle, handle);
  graph.finalize();
  return graph_.emplace_back(std::move(graph));
}

}  // namespace ridgeline::cuda::cudnn
