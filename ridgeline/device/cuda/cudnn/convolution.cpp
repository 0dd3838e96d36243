#include "ridgeline/device/cuda/cudnn/convolution.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ridgeline/core/error.h"

namespace ridgeline::cuda::cudnn {

std::string_view name_of(Pass pass) {
  switch (pass) {
    case Pass::forward: return "conv2d";
    case Pass::backward_data: return "conv2d_bwd_data";
    case Pass::backward_filter: return "conv2d_bwd_weights";
  }
  return "";
}

DataType data_type_of(DType type) {
  switch (type) {
    case DType::f32: return DataType::f32;
    case DType::bf16: return DataType::bf16;
    case DType::f16: return DataType::f16;
    default: RIDGELINE_CHECK(false, "a type that no entry of cuDNN takes");
  }
}

double Convolution::flops() const {
  return 2.0 * static_cast<double>(result.elements()) * static_cast<double>(filter.elements() / filter[0]);
}

std::string Convolution::text() const {
  std::string text = fmt::format("{} {} image {} filter {} stride {} pad {},{} dilation {} written {}", name_of(pass),
                                 ridgeline::name_of(operands), image.to_string(), filter.to_string(), window.stride,
                                 window.pad_before, window.pad_after, window.dilation, ridgeline::name_of(written));
  if (addend) text += " addend";
  if (bias) text += fmt::format(" bias {}", ridgeline::name_of(bias_type));
  if (relu) text += " relu";
  if (gate) text += " gate";
  return text;
}

std::vector<ConvolutionValue> values_of(const Convolution& c) {
  const ValueType image{c.operands, c.image}, filter{c.operands, c.filter}, result{c.operands, c.result};
  std::vector<ConvolutionValue> values;
  switch (c.pass) {
    case Pass::forward:
      values = {
          {kFirstId, false, 0, image}, {kSecondId, false, 1, filter}, {kWrittenId, true, 0, {c.written, c.result}}};
      break;
    case Pass::backward_data:
      values = {
          {kFirstId, false, 0, result}, {kSecondId, false, 1, filter}, {kWrittenId, true, 0, {c.written, c.image}}};
      break;
    case Pass::backward_filter:
      values = {
          {kFirstId, false, 0, image}, {kSecondId, false, 1, result}, {kWrittenId, true, 0, {c.written, c.filter}}};
      break;
  }
  if (c.bias) values.push_back({kBiasId, false, 2, {c.bias_type, {c.filter[0]}}});
  if (c.addend) values.push_back({kAddendId, false, 3, {c.written, c.result}});
  if (c.gate) values.push_back({kGateId, false, 2, {c.written, c.image}});
  return values;
}

namespace {

using Tensor = OperationGraph::Tensor;

// y = relu(sums + addend + bias), each where it is requested; the sums between are f32.
void add_forward(OperationGraph& graph, const Convolution& c) {
  const DataType type = data_type_of(c.operands), written = data_type_of(c.written);
  const Tensor x = graph.value(c.image, type, kFirstId), w = graph.value(c.filter, type, kSecondId);
  const Tensor y = graph.value(c.result, written, kWrittenId);
  // A result of another type than the operands' is written by an operation after the convolution.
  const bool converts = c.written != c.operands;
  int left = (c.addend ? 1 : 0) + (c.bias ? 1 : 0) + (c.relu ? 1 : 0);
  if (left == 0 && converts) left = 1;
  const auto following = [&] { return left-- == 0 ? y : graph.between(c.result); };
  Tensor last = following();
  const auto append = [&](PointwiseMode mode, Tensor operand) {
    const Tensor next = following();
    graph.pointwise(mode, last, operand, next);
    last = next;
  };
  graph.convolution_forward(c.window, x, w, last);
  if (c.addend) append(PointwiseMode::add, graph.value(c.result, written, kAddendId));
  if (c.bias) append(PointwiseMode::add, graph.value({c.filter[0]}, data_type_of(c.bias_type), kBiasId));
  if (c.relu || last != y) graph.pointwise(c.relu ? PointwiseMode::relu : PointwiseMode::identity, last, y);
}

void add_backward_data(OperationGraph& graph, const Convolution& c) {
  const DataType type = data_type_of(c.operands), written = data_type_of(c.written);
  const Tensor dy = graph.value(c.result, type, kFirstId), w = graph.value(c.filter, type, kSecondId);
  const Tensor dx = graph.value(c.image, written, kWrittenId);
  const bool alone = !c.gate && c.written == c.operands;
  const Tensor sums = alone ? dx : graph.between(c.image);
  graph.convolution_backward_data(c.window, dy, w, sums);
  if (c.gate) {
    graph.relu_backward(sums, graph.value(c.image, written, kGateId), dx);
  } else if (!alone) {
    graph.pointwise(PointwiseMode::identity, sums, dx);
  }
}

void add_backward_filter(OperationGraph& graph, const Convolution& c) {
  const DataType type = data_type_of(c.operands);
  const Tensor x = graph.value(c.image, type, kFirstId), dy = graph.value(c.result, type, kSecondId);
  const Tensor dw = graph.value(c.filter, data_type_of(c.written), kWrittenId);
  const bool alone = c.written == c.operands;
  const Tensor sums = alone ? dw : graph.between(c.filter);
  graph.convolution_backward_filter(c.window, x, dy, sums);
  if (!alone) graph.pointwise(PointwiseMode::identity, sums, dw);
}

}  // namespace

std::unique_ptr<OperationGraph> graph_of(const Functions& functions, const Convolution& convolution) {
  auto graph = std::make_unique<OperationGraph>(functions);
  switch (convolution.pass) {
    case Pass::forward: add_forward(*graph, convolution); break;
    case Pass::backward_data: add_backward_data(*graph, convolution); break;
    case Pass::backward_filter: add_backward_filter(*graph, convolution); break;
  }
  return graph;
}

}  // namespace ridgeline::cuda::cudnn
