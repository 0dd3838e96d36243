#include "ridgeline/device/cuda/cublas/node.h"

#include "ridgeline/graph/op/matmul.h"

namespace ridgeline::cuda::cublas {
namespace {

// The constant step from each matrix of an operand to the next through the whole batch, in matrices.
std::int64_t step_of(const std::vector<std::int64_t>& batch, const std::vector<std::int64_t>& steps) {
  std::int64_t step = 0, behind = 1;  // matrices of y in the axes behind
  bool known = false;
  for (std::size_t axis = batch.size(); axis-- > 0; behind *= batch[axis]) {
    if (batch[axis] == 1) continue;
    if (!known) step = steps[axis];
    if (steps[axis] != step * behind) throw Failure("matrices are repeated in turn");
    known = true;
  }
  return step;
}

Product product_of_matrices(const Node& node, std::span<const ValueType> inputs, std::span<const ValueType> outputs) {
  const MatmulForm form = matmul_form(inputs[0].shape, inputs[1].shape, node.attributes).merged();
  Product p;
  p.pass = Pass::matrices;
  p.operands = inputs[0].dtype;
  p.written = outputs[0].dtype;
  p.rows = form.rows, p.inputs = form.depth, p.outputs = form.columns;
  p.transpose_first = form.transpose_a, p.transpose_second = form.transpose_b;
  p.count = form.matrices();
  p.first_step = step_of(form.batch, form.a_steps) * form.rows * form.depth;
  p.second_step = step_of(form.batch, form.b_steps) * form.depth * form.columns;
  return p;
}

}  // namespace

Product product_of(const Node& node, std::span<const ValueType> inputs, std::span<const ValueType> outputs) {
  if (node.op == "matmul") return product_of_matrices(node, inputs, outputs);
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
