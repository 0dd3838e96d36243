#include <fstream>

#include "ridgeline/format/wire/protobuf_wire.h"
#include "tests/graph/golden_onnx.h"

namespace ridgeline::test {
namespace {

std::vector<std::uint8_t> read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

DType dtype_of_code(std::int64_t code) {
  switch (code) {
    case 1: return DType::f32;
    case 2: return DType::u8;
    case 6: return DType::i32;
    case 7: return DType::i64;
    case 9: return DType::boolean;
    case 10: return DType::f16;
    case 11: return DType::f64;
    case 16: return DType::bf16;
    default: throw OutOfScope("element type " + onnx_type_name(code));
  }
}

// TensorProto: dims 1, data_type 2, float_data 4, int32_data 5, int64_data 7, name 8, raw_data 9, double_data 10.
Tensor parse_tensor(ProtobufReader r, std::string* name = nullptr) {
  std::vector<std::int64_t> dims, integers;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::span<const std::uint8_t> raw;
  std::int64_t type = 0;
  while (r.next()) {
    switch (r.field()) {
      case 1: r.append_to(dims); break;
      case 2: type = r.int64(); break;
      case 4: r.append_to(floats); break;
      case 5:
      case 7: r.append_to(integers); break;
      case 8: {
        const std::string text(r.text());
        if (name) *name = text;
        break;
      }
      case 9: raw = r.bytes(); break;
      case 10: r.append_to(doubles); break;
      default: break;
    }
  }
  Tensor tensor(dtype_of_code(type), Shape(dims));
  if (!raw.empty()) {
    if (raw.size() != tensor.byte_size()) throw std::runtime_error("raw_data of another size");
    std::memcpy(tensor.raw(), raw.data(), raw.size());
    return tensor;
  }
  const bool half = tensor.dtype() == DType::f16 || tensor.dtype() == DType::bf16;  // bits in int32_data
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (half) {
      static_cast<std::uint16_t*>(tensor.raw())[i] = static_cast<std::uint16_t>(integers.at(at));
    } else if (tensor.dtype() == DType::i64) {
      tensor.data<std::int64_t>()[i] = integers.at(at);
    } else if (is_floating(tensor.dtype())) {
      tensor.set(i, doubles.empty() ? static_cast<double>(floats.at(at)) : doubles.at(at));
    } else {
      tensor.set(i, static_cast<double>(integers.at(at)));
    }
  }
  return tensor;
}

// AttributeProto: name 1, f 2, i 3, s 4, t 5, ints 8, type 20 (1 float, 2 int, 3 string, 4 tensor, 7 ints).
void parse_attribute(ProtobufReader r, OnnxNode& node) {
  std::string name, text;
  double real = 0;
  std::int64_t integer = 0, type = 0;
  std::vector<std::int64_t> list;
  Tensor tensor;
  while (r.next()) {
    switch (r.field()) {
      case 1: name = r.text(); break;
      case 2: real = static_cast<double>(r.f32()); break;
      case 3: integer = r.int64(); break;
      case 4: text = r.text(); break;
      case 5: tensor = parse_tensor(r.message("TensorProto")); break;
      case 8: r.append_to(list); break;
      case 20: type = r.int64(); break;
      default: break;
    }
  }
  if (type == 1) node.reals[name] = real;
  if (type == 2) node.ints[name] = integer;
  if (type == 3) node.strings[name] = text;
  if (type == 4) node.tensors[name] = tensor;
  if (type == 7) node.lists[name] = list;
}

// NodeProto: input 1, output 2, op_type 4, attribute 5.
OnnxNode parse_node(ProtobufReader r) {
  OnnxNode node;
  std::vector<std::span<const std::uint8_t>> attributes;
  while (r.next()) {
    if (r.field() == 1) node.inputs.emplace_back(r.text());
    if (r.field() == 2) node.outputs.emplace_back(r.text());
    if (r.field() == 4) node.op = r.text();
    if (r.field() == 5) attributes.push_back(r.bytes());
  }
  // Subgraphs and other attributes belong only to ops that we do not have.
  if (knows_onnx_op(node.op)) {
    for (const auto& bytes : attributes) parse_attribute({bytes, "AttributeProto"}, node);
  }
  return node;
}

std::string name_in(ProtobufReader r) {
  std::string name;
  while (r.next()) {
    if (r.field() == 1) name = r.text();
  }
  return name;
}

// GraphProto: node 1, initializer 5, input 11, output 12.
void parse_graph(ProtobufReader r, OnnxModel& model) {
  std::vector<std::string> inputs;
  while (r.next()) {
    if (r.field() == 1) model.nodes.push_back(parse_node(r.message("NodeProto")));
    if (r.field() == 5) {
      std::string name;
      const Tensor tensor = parse_tensor(r.message("TensorProto"), &name);
      model.constants[name] = tensor;
    }
    if (r.field() == 11) inputs.push_back(name_in(r.message("ValueInfoProto")));
    if (r.field() == 12) model.outputs.push_back(name_in(r.message("ValueInfoProto")));
  }
  for (std::string& name : inputs) {
    if (!model.constants.contains(name)) model.inputs.push_back(std::move(name));
  }
}

template <class Map, class T>
T find_or(const Map& map, const std::string& name, T fallback) {
  const auto at = map.find(name);
  return at == map.end() ? fallback : at->second;
}

}  // namespace

std::string onnx_type_name(std::int64_t code) {
  static const char* const names[] = {"undefined",
                                      "f32",
                                      "u8",
                                      "int8",
                                      "uint16",
                                      "int16",
                                      "i32",
                                      "i64",
                                      "string",
                                      "bool",
                                      "f16",
                                      "f64",
                                      "uint32",
                                      "uint64",
                                      "complex64",
                                      "complex128",
                                      "bf16",
                                      "float8e4m3fn",
                                      "float8e4m3fnuz",
                                      "float8e5m2",
                                      "float8e5m2fnuz",
                                      "uint4",
                                      "int4",
                                      "float4e2m1",
                                      "float8e8m0",
                                      "uint2",
                                      "int2"};
  return code >= 0 && code < std::ssize(names) ? names[code] : std::to_string(code);
}

std::int64_t OnnxNode::integer(const std::string& name, std::int64_t fallback) const {
  return find_or(ints, name, fallback);
}
double OnnxNode::real(const std::string& name, double fallback) const { return find_or(reals, name, fallback); }
std::string OnnxNode::string(const std::string& name, std::string fallback) const {
  return find_or(strings, name, std::move(fallback));
}
std::vector<std::int64_t> OnnxNode::integers(const std::string& name, std::vector<std::int64_t> fallback) const {
  return find_or(lists, name, std::move(fallback));
}

// ModelProto: graph 7, opset_import 8 {domain 1, version 2}.
OnnxModel read_onnx_model(const std::filesystem::path& path) {
  const std::vector<std::uint8_t> bytes = read_bytes(path);
  OnnxModel model;
  std::int64_t opset = 0;
  ProtobufReader r(bytes, "ModelProto");
  while (r.next()) {
    if (r.field() == 7) parse_graph(r.message("GraphProto"), model);
    if (r.field() == 8) {
      ProtobufReader set = r.message("OperatorSetIdProto");
      std::string domain;
      std::int64_t version = 0;
      while (set.next()) {
        if (set.field() == 1) domain = set.text();
        if (set.field() == 2) version = set.int64();
      }
      if (domain.empty()) opset = version;
    }
  }
  for (OnnxNode& node : model.nodes) node.opset = opset;
  return model;
}

Tensor read_onnx_tensor(const std::filesystem::path& path) {
  const std::vector<std::uint8_t> bytes = read_bytes(path);
  return parse_tensor({bytes, "TensorProto"});
}

}  // namespace ridgeline::test
