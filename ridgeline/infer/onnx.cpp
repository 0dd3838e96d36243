#include "ridgeline/infer/onnx.h"

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/utf8.h"
#include "ridgeline/format/text/json_value.h"
#include "ridgeline/infer/onnx_ops.h"
#include "ridgeline/infer/weights.h"

namespace ridgeline::infer {
namespace {

Shape image_order(const Shape& s) { return {s[0], s[3], s[1], s[2]}; }

std::vector<OnnxExtent> extents_of(Shape shape) {
  std::vector<OnnxExtent> extents(shape.begin(), shape.end());
  if (!extents.empty()) extents.front() = std::string("N");
  return extents;
}

void add_metadata(const Model& model, OnnxWriter& writer) {
  if (model.preprocessing) {
    const bool exact = model.preprocessing->rule == ResizeRule::exact;
    writer.metadata("preprocessing",
                    to_json_text(JsonValue::Object{{"rule", exact ? "exact" : "short_side"},
                                                   {"resize", std::int64_t{model.preprocessing->resize}},
                                                   {"crop", std::int64_t{model.preprocessing->crop}}}));
  }
  JsonValue::Array names;
  for (const std::string& name : model.class_names) {
    if (!is_utf8(name)) throw Error("[onnx] a class name is no UTF-8, which the format wants: rename the class");
    names.emplace_back(name);
  }
  if (!names.empty()) writer.metadata("class_names", to_json_text(std::move(names)));
}

}  // namespace

std::string to_onnx(const Model& model) {
  check(model);
  const Graph& graph = model.graph;
  if (!graph.updates.empty())
    throw Error("[onnx] the graph " + graph.name + " updates its parameters: a training step");
  batch_size_of(graph);  // one number of rows
  OnnxWriter writer(model.name.empty() ? graph.name : model.name);
  OnnxGraph onnx(graph, writer);
  for (const ValueId id : graph.arguments) {
    const ValueInfo& value = graph.value(id);
    if (value.kind != ValueKind::input) continue;
    // Bytes of pixels are as decoders give them.
    const bool image = value.type.shape.rank() == 4 && value.type.dtype != DType::u8;
    onnx.set_name(id, value.name, image);
    onnx.set_by_rows(id);
    writer.input(value.name, value.type.dtype, extents_of(image ? image_order(value.type.shape) : value.type.shape));
  }
  for (const NamedTensor& tensor : model.tensors) {
    const ParameterSpec spec{tensor.name, tensor.tensor.shape(), {}, ParameterRole::trainable, tensor.tensor.dtype()};
    writer.initializer(tensor.name, to_file(spec, tensor.tensor));
    onnx.set_name(graph.find_argument(tensor.name), tensor.name, tensor.tensor.shape().rank() == 4);
  }
  for (const Node& node : graph.nodes) onnx.add(node);
  for (const Return& returned : graph.returns) {
    const ValueType& type = graph.value(returned.value).type;
    const std::string source = onnx.name(returned.value);
    writer.node("Identity", std::vector<std::string>{source}, std::vector<std::string>{returned.name},
                "return/" + returned.name);
    writer.output(returned.name, type.dtype,
                  extents_of(onnx.is_image(returned.value) ? image_order(type.shape) : type.shape));
  }
  add_metadata(model, writer);
  return writer.finish();
}

void write_onnx(const std::string& path, const Model& model) { write_file_atomically(path, to_onnx(model)); }

}  // namespace ridgeline::infer
