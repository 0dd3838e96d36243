// tests/device/cuda/node_problem.h
//
// One op with host tensors, and running a kernel of a card on it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ridgeline/core/tensor.h"
#include "ridgeline/device/cuda/cuda_device.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline::cuda::testing {

// One node with operands: what an entry of the table is asked for.
struct NodeProblem {
  Node node;
  std::vector<Tensor> inputs;
  std::vector<ValueType> outputs;
  NodeProblem(const std::string& op, std::vector<Tensor> operands, const Attributes& attributes)
      : inputs(std::move(operands)) {
    node.op = op;
    node.name = op + "_under_test";
    node.attributes = complete_attributes(op_def(op), attributes);
    outputs = infer_types(op_def(op), input_types(), node.attributes, node.name);
  }
  std::vector<ValueType> input_types() const {
    std::vector<ValueType> types;
    for (const Tensor& t : inputs) types.push_back({t.dtype(), t.shape()});
    return types;
  }
  std::vector<Tensor> reference() const { return run_reference(op_def(node.op), inputs, node.attributes, node.name); }
  KernelRequest request(Device& device) const {
    KernelRequest r{op_def(node.op), node, {}, {}, {}, &device};
    for (const ValueType& type : input_types()) r.inputs.push_back({type, {}, false});
    for (const ValueType& type : outputs) r.outputs.push_back({type, {}, false});
    return r;
  }
};

// What the kernel makes of the problem, run at once or recorded and replayed.
std::vector<Tensor> run_on_device(CudaDevice& device, Kernel& kernel, const NodeProblem& problem, bool recorded);

}  // namespace ridgeline::cuda::testing
