#include "ridgeline/infer/model.h"

#include <map>

#include "ridgeline/core/error.h"
#include "ridgeline/infer/names.h"

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
