// ridgeline/device/cuda/cudnn/operation_graph.h
//
// Builds one of cuDNN's operation graphs: tensors, a convolution of one pass, pointwise operations and sums after it.
// Images are given as [N,H,W,C], filters as [K,R,S,C/groups], both row-major, as everywhere in this project; the
// library requires the same memory described as N,C,H,W with strides. Sums are f32. A Failure of the library is thrown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/core/shape.h"
#include "ridgeline/device/cuda/cudnn/descriptor.h"
#include "ridgeline/graph/op/window.h"

namespace ridgeline::cuda::cudnn {

class OperationGraph {
 public:
  explicit OperationGraph(const Functions& functions) : functions_(functions) {}

  // Index of a tensor of this graph.
  using Tensor = std::size_t;
  // An operand or result: `id` names its address when the graph runs. Rank 4, or 1 for one value per channel.
  Tensor value(const Shape& shape, DataType type, std::int64_t id);
  // A value between two operations, which is never written to memory.
  Tensor between(const Shape& shape, DataType type = DataType::f32);

  void convolution_forward(const Window& window, Tensor x, Tensor w, Tensor y);
  void convolution_backward_data(const Window& window, Tensor dy, Tensor w, Tensor dx);
  void convolution_backward_filter(const Window& window, Tensor x, Tensor dy, Tensor dw);
  // y = a op b, or y = op a; a tensor of one value per channel is broadcast over the pixels.
  void pointwise(PointwiseMode mode, Tensor a, Tensor b, Tensor y);
  void pointwise(PointwiseMode mode, Tensor a, Tensor y);
  // dx = dy where x is above 0, else 0.
  void relu_backward(Tensor dy, Tensor x, Tensor dx);
  // Sums of x and of its squares, for each channel.
  void statistics(Tensor x, Tensor sum, Tensor sum_of_squares);

  // The graph, for plans that run through `handle`; null for plans that are only described. Called once, at the end.
  const Descriptor& finish(Handle handle);

 private:
  Tensor add_tensor(const Shape& shape, DataType type, std::int64_t id, bool is_between);
  Descriptor convolution(const Window& window);
  void add(Descriptor operation);
  Descriptor pointwise_operation(PointwiseMode mode);

  const Functions& functions_;
  std::vector<Descriptor> tensors_, parts_, operations_;
  std::vector<Descriptor> graph_;  // one, when finished
  std::int64_t next_between_ = 1000;
};

}  // namespace ridgeline::cuda::cudnn
