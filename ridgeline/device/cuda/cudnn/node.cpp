#include "ridgeline/device/cuda/cudnn/node.h"

namespace ridgeline::cuda::cudnn {

Convolution convolution_of(const Node& node, std::span<const ValueType> inputs, std::span<const ValueType> outputs) {
  Convolution c;
  c.operands = inputs[0].dtype;
  c.written = outputs[0].dtype;
  if (node.op == "conv2d") {
    c.pass = Pass::forward;
    c.image = inputs[0].shape, c.filter = inputs[1].shape, c.result = outputs[0].shape;
    c.bias = inputs.size() >= 3;
    c.addend = inputs.size() == 4;
    c.relu = node.attributes.string("activation") == "relu";
    if (c.bias) c.bias_type = inputs[2].dtype;
  } else if (node.op == "conv2d_bwd_data") {
    c.pass = Pass::backward_data;
    c.image = outputs[0].shape, c.filter = inputs[1].shape, c.result = inputs[0].shape;
    c.gate = inputs.size() == 3;
  } else {
    c.pass = Pass::backward_filter;
    c.image = inputs[0].shape, c.filter = outputs[0].shape, c.result = inputs[1].shape;
  }
  c.window = window_of(node.op, node.attributes, c.filter[1], c.filter[2]);
  return c;
}

}  // namespace ridgeline::cuda::cudnn
