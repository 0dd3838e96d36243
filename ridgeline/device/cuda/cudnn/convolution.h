// ridgeline/device/cuda/cudnn/convolution.h
//
// A convolution of one pass with the ops fused after it, as described by the graph's op, and its operation graph for
// cuDNN.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/core/dtype.h"
#include "ridgeline/device/cuda/cudnn/operation_graph.h"
#include "ridgeline/graph/ir/graph.h"

namespace ridgeline::cuda::cudnn {

enum class Pass { forward, backward_data, backward_filter };
std::string_view name_of(Pass pass);  // "conv2d", "conv2d_bwd_data", "conv2d_bwd_weights"

struct Convolution {
  Pass pass = Pass::forward;
  Shape image;   // x or dx [N,H,W,C]
  Shape filter;  // w or dw [K,R,S,C/groups]
  Shape result;  // y or dy [N,OH,OW,K]
  Window window;
  DType operands = DType::f32;
  DType written = DType::f32;  // of the result of the pass
  // Of forward passes: y = relu(convolution + addend + bias).
  bool bias = false, addend = false, relu = false;
  DType bias_type = DType::f32;
  // Of backward_data: dx is 0 where the gate is at most 0.
  bool gate = false;

  double flops() const;
  // Everything that determines an execution plan, for files and reports.
  std::string text() const;
};

// Ids of the values of a convolution's graph. First and second operand in the order of the graph's ops: x and w, dy and
// w, x and dy.
inline constexpr std::int64_t kFirstId = 1, kSecondId = 2, kWrittenId = 3, kBiasId = 4, kAddendId = 5, kGateId = 6;

// The values of its graph, and which operand or result of the graph's op each is.
struct ConvolutionValue {
  std::int64_t id;
  bool result;
  std::size_t index;
  ValueType type;
};
std::vector<ConvolutionValue> values_of(const Convolution& convolution);

// A Failure if the library does not support such a graph.
std::unique_ptr<OperationGraph> graph_of(const Functions& functions, const Convolution& convolution);

// The library's type; none for f64 and integers.
DataType data_type_of(DType type);

}  // namespace ridgeline::cuda::cudnn
