// ridgeline/format/onnx/onnx_writer.h
//
// ONNX models (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto), written node by node over the wire format. It
// knows nothing of what the nodes mean. Names of values are any texts; equal calls give equal bytes. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ridgeline/core/tensor.h"
#include "ridgeline/format/wire/protobuf_wire.h"

namespace ridgeline {

using OnnxAttribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>>;
using OnnxAttributes = std::map<std::string, OnnxAttribute>;

// An extent without a number has a name: "N".
using OnnxExtent = std::variant<std::int64_t, std::string>;

class OnnxWriter {
 public:
  // The set of ops that nodes are of (ONNX's own domain).
  static constexpr std::int64_t kOpset = 20;

  explicit OnnxWriter(std::string graph_name) : graph_name_(std::move(graph_name)) {}

  void input(const std::string& name, DType dtype, std::span<const OnnxExtent> extents);
  void output(const std::string& name, DType dtype, std::span<const OnnxExtent> extents);
  // A constant; its bytes are copied.
  void initializer(const std::string& name, const Tensor& value);
  // An absent operand is "".
  void node(const std::string& op, std::span<const std::string> inputs, std::span<const std::string> outputs,
            const std::string& name, const OnnxAttributes& attributes = {});
  void metadata(const std::string& key, const std::string& value) { metadata_[key] = value; }

  // The bytes of the file. An Error beyond 2^31 - 1 bytes, the limit of a protobuf message.
  std::string finish() const;

 private:
  std::string graph_name_;
  ProtobufWriter nodes_, initializers_, inputs_, outputs_;  // fields of the graph
  std::map<std::string, std::string> metadata_;
};

}  // namespace ridgeline
