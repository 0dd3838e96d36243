#include "ridgeline/infer/model.h"

#include <map>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/pass/inline.h"
#include "ridgeline/infer/names.h"
#include "ridgeline/infer/unusable_values.h"

namespace ridgeline::infer {
namespace {

bool is_stored(const ValueInfo& value) { return value.kind == ValueKind::param || value.kind == ValueKind::state; }

void check_images(const Graph& graph, const EvaluationTransform& transform) {
  const Preprocessor valid(transform);  // refuses sizes that make no sense
  const ValueId id = graph.find_argument(kImages);
  const Shape wanted = {0, transform.crop, transform.crop, 3};
  Shape shape = id == kNoValue ? Shape{} : graph.value(id).type.shape;
  if (shape.rank() > 0) shape[0] = 0;
  if (id != kNoValue && graph.value(id).kind == ValueKind::input && graph.value(id).type.dtype == DType::u8 &&
      shape == wanted) {
    return;
  }
  throw Error("[model] the preprocessing makes u8[N," + std::to_string(transform.crop) + "," +
              std::to_string(transform.crop) + ",3], but the graph's input images is " +
              (id == kNoValue ? std::string("missing") : graph.value(id).type.to_string()));
}

// The states that a batch norm reads as variances.
std::set<std::string> variances_of(const Graph& graph) {
  std::set<std::string> names;
  for (const Node& node : graph.nodes) {
    const std::vector<std::string>& operands = op_def(node.op).operands;
    for (std::size_t i = 0; i < node.inputs.size() && i < operands.size(); ++i) {
      const bool variance =
          operands[i] == "running_var" || (operands[i] == "var" && !node.attributes.boolean("var_is_inv_std"));
      if (variance && is_stored(graph.value(node.inputs[i]))) names.insert(graph.value(node.inputs[i]).name);
    }
  }
  return names;
}

}  // namespace

void check(const Model& model) {
  std::map<std::string, const Tensor*> tensors;
  for (const NamedTensor& t : model.tensors) {
    if (!tensors.emplace(t.name, &t.tensor).second) throw Error("[model] two tensors are called " + t.name);
  }
  for (const ValueId id : model.graph.arguments) {
    const ValueInfo& value = model.graph.value(id);
    if (!is_stored(value)) continue;
    const auto found = tensors.find(value.name);
    if (found == tensors.end()) throw Error("[model] no tensor " + value.name + ", which the graph wants");
    const ValueType type{found->second->dtype(), found->second->shape()};
    if (type != value.type) {
      throw Error("[model] tensor " + value.name + " is " + type.to_string() + ", but " + value.type.to_string() +
                  " in the graph");
    }
    tensors.erase(found);
  }
  if (!tensors.empty()) throw Error("[model] tensor " + tensors.begin()->first + " is no param or state of the graph");
  if (model.preprocessing) check_images(model.graph, *model.preprocessing);
}

void check_values(const Model& model) {
  const std::set<std::string> variances = variances_of(inline_calls(model.graph));
  std::vector<std::string> unusable;
  for (const NamedTensor& t : model.tensors) {
    std::string said = unusable_values(t.name, t.tensor, variances.contains(t.name));
    if (!said.empty()) unusable.push_back(std::move(said));
  }
  expect_usable("[model]" + (model.name.empty() ? "" : " " + model.name), unusable);
}

Model capture(const ParameterStore& store, Graph graph, std::string name) {
  Model model{.name = std::move(name), .graph = std::move(graph), .tensors = {}};
  for (const ValueId id : model.graph.arguments) {
    const ValueInfo& value = model.graph.value(id);
    if (is_stored(value)) model.tensors.push_back({value.name, store.get(value.name)});
  }
  check(model);
  return model;
}

}  // namespace ridgeline::infer
