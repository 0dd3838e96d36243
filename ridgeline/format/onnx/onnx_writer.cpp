#include "ridgeline/format/onnx/onnx_writer.h"

#include <array>

#include "ridgeline/core/error.h"
#include "ridgeline/core/version.h"

namespace ridgeline {
namespace {

// Numbers of onnx.proto.
constexpr std::int64_t kIrVersion = 9;
namespace model {
constexpr std::uint32_t ir_version = 1, producer_name = 2, producer_version = 3, graph = 7, opset_import = 8,
                        metadata_props = 14;
}
namespace graph {
constexpr std::uint32_t node = 1, name = 2, initializer = 5, input = 11, output = 12;
}
namespace node_field {
constexpr std::uint32_t input = 1, output = 2, name = 3, op_type = 4, attribute = 5;
}
namespace attribute_field {
constexpr std::uint32_t name = 1, f = 2, i = 3, s = 4, ints = 8, type = 20;
enum Type : std::int64_t { kFloat = 1, kInt = 2, kString = 3, kInts = 7 };
}  // namespace attribute_field

struct TypeCode {
  DType dtype;
  std::int64_t code;  // TensorProto.DataType
};
constexpr std::array<TypeCode, 8> kTypes{{{DType::f32, 1},
                                          {DType::u8, 2},
                                          {DType::i32, 6},
                                          {DType::i64, 7},
                                          {DType::boolean, 9},
                                          {DType::f16, 10},
                                          {DType::f64, 11},
                                          {DType::bf16, 16}}};

std::int64_t code_of(DType dtype) {
  for (const TypeCode& row : kTypes) {
    if (row.dtype == dtype) return row.code;
  }
  throw Error("[onnx] a tensor of type " + std::string(name_of(dtype)) + " has no form there");
}

ProtobufWriter value_info(const std::string& name, DType dtype, std::span<const OnnxExtent> extents) {
  ProtobufWriter shape;
  for (const OnnxExtent& extent : extents) {
    ProtobufWriter dim;
    if (const auto* number = std::get_if<std::int64_t>(&extent))
      dim.int64(1, *number);
    else
      dim.bytes(2, std::get<std::string>(extent));
    shape.message(1, dim);
  }
  ProtobufWriter tensor_type, type, info;
  tensor_type.int64(1, code_of(dtype));
  tensor_type.message(2, shape);
  type.message(1, tensor_type);
  info.bytes(1, name);
  info.message(2, type);
  return info;
}

ProtobufWriter attribute_proto(const std::string& name, const OnnxAttribute& value) {
  using namespace attribute_field;
  ProtobufWriter out;
  out.bytes(attribute_field::name, name);
  if (const auto* real = std::get_if<float>(&value)) {
    out.f32(f, *real);
    out.int64(type, kFloat);
  } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
    out.int64(i, *number);
    out.int64(type, kInt);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    out.bytes(s, *text);
    out.int64(type, kString);
  } else {
    for (const std::int64_t n : std::get<std::vector<std::int64_t>>(value)) out.int64(ints, n);
    out.int64(type, kInts);
  }
  return out;
}

}  // namespace

void OnnxWriter::input(const std::string& name, DType dtype, std::span<const OnnxExtent> extents) {
  inputs_.message(graph::input, value_info(name, dtype, extents));
}

void OnnxWriter::output(const std::string& name, DType dtype, std::span<const OnnxExtent> extents) {
  outputs_.message(graph::output, value_info(name, dtype, extents));
}

void OnnxWriter::initializer(const std::string& name, const Tensor& value) {
  ProtobufWriter tensor;
  for (const std::int64_t extent : value.shape()) tensor.int64(1, extent);
  tensor.int64(2, code_of(value.dtype()));
  tensor.bytes(8, name);
  tensor.bytes(9, {static_cast<const char*>(value.raw()), value.byte_size()});
  initializers_.message(graph::initializer, tensor);
}

void OnnxWriter::node(const std::string& op, std::span<const std::string> inputs, std::span<const std::string> outputs,
                      const std::string& name, const OnnxAttributes& attributes) {
  ProtobufWriter out;
  for (const std::string& input : inputs) out.bytes(node_field::input, input);
  for (const std::string& output : outputs) out.bytes(node_field::output, output);
  out.bytes(node_field::name, name);
  out.bytes(node_field::op_type, op);
  for (const auto& [key, value] : attributes) out.message(node_field::attribute, attribute_proto(key, value));
  nodes_.message(graph::node, out);
}

std::string OnnxWriter::finish() const {
  ProtobufWriter name, head, opset, tail;
  name.bytes(graph::name, graph_name_);
  const std::string body =
      nodes_.buffer() + name.buffer() + initializers_.buffer() + inputs_.buffer() + outputs_.buffer();
  head.int64(model::ir_version, kIrVersion);
  head.bytes(model::producer_name, "ridgeline");
  head.bytes(model::producer_version, kVersion);
  head.bytes(model::graph, body);
  opset.bytes(1, "");
  opset.int64(2, kOpset);
  tail.message(model::opset_import, opset);
  for (const auto& [key, value] : metadata_) {
    ProtobufWriter entry;
    entry.bytes(1, key);
    entry.bytes(2, value);
    tail.message(model::metadata_props, entry);
  }
  std::string file = head.buffer() + tail.buffer();
  if (file.size() > 0x7fffffff) {
    throw Error("[onnx] the model takes " + std::to_string(file.size()) + " bytes; a file holds 2^31 - 1 at most");
  }
  return file;
}

}  // namespace ridgeline
