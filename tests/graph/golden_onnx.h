// tests/graph/golden_onnx.h
//
// The part of ONNX needed to read its node tests: models of a few nodes and tensors, and a mapping of their ops to
// ours. https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
#pragma once

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "ridgeline/core/tensor.h"

namespace ridgeline::test {

// A case, or a part of it, that our ops cannot express; contains the reason.
struct OutOfScope : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct OnnxNode {
  std::string op;
  std::vector<std::string> inputs;   // "" is an absent operand
  std::vector<std::string> outputs;  // likewise
  std::map<std::string, std::int64_t> ints;
  std::map<std::string, double> reals;
  std::map<std::string, std::string> strings;
  std::map<std::string, std::vector<std::int64_t>> lists;
  std::map<std::string, Tensor> tensors;
  std::int64_t opset = 0;  // of the model, default domain

  std::int64_t integer(const std::string& name, std::int64_t fallback) const;
  double real(const std::string& name, double fallback) const;
  std::string string(const std::string& name, std::string fallback) const;
  std::vector<std::int64_t> integers(const std::string& name, std::vector<std::int64_t> fallback = {}) const;
};

struct OnnxModel {
  std::vector<OnnxNode> nodes;
  std::map<std::string, Tensor> constants;
  std::vector<std::string> inputs;  // without the constants
  std::vector<std::string> outputs;
};

OnnxModel read_onnx_model(const std::filesystem::path& path);
// OutOfScope for element types that our tensors do not have.
Tensor read_onnx_tensor(const std::filesystem::path& path);

// TensorProto.DataType by number.
std::string onnx_type_name(std::int64_t code);

// Whether our ops can express this op.
bool knows_onnx_op(const std::string& op);
// Runs one node with our references; absent operands are undefined tensors. OutOfScope if our ops cannot express it.
std::vector<Tensor> run_onnx_node(const OnnxNode& node, const std::vector<Tensor>& inputs);

}  // namespace ridgeline::test
