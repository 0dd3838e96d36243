#include "ridgeline/device/cuda/cublas/node.h"

namespace ridgeline::cuda::cublas {

Product product_of(const Node& node, std::span<const ValueType> inputs, std::span<const ValueType> outputs) {
  Product p;
  p.operands = inputs[0].dtype;
  p.written = outputs[0].dtype;
  p.rows = inputs[0].shape[0];
  if (node.op == "dense") {
    p.pass = Pass::forward;
    p.inputs = inputs[1].shape[1], p.outputs = inputs[1].shape[0];
    p.bias = inputs.size() >= 3;
    p.addend = inputs.size() == 4;
    p.relu = node.attributes.string("activation") == "relu";
    if (p.bias) p.bias_type = inputs[2].dtype;
  } else if (node.op == "dense_bwd_data") {
    p.pass = Pass::backward_data;
    p.inputs = inputs[1].shape[1], p.outputs = inputs[1].shape[0];
  } else {
    p.pass = Pass::backward_weights;
    p.inputs = inputs[0].shape[1], p.outputs = inputs[1].shape[1];
    p.bias_gradient = outputs.size() == 2;
    if (p.bias_gradient) p.bias_type = outputs[1].dtype;
  }
  return p;
}

ProductAddresses addresses_of(const Product& product, void* const* inputs, void* const* outputs) {
  ProductAddresses addresses{.first = inputs[0], .second = inputs[1], .written = outputs[0]};
  if (product.bias) addresses.bias = inputs[2];
  if (product.addend) addresses.addend = inputs[3];
  if (product.bias_gradient) addresses.bias = outputs[1];
  return addresses;
}

}  // namespace ridgeline::cuda::cublas
