#include "tests/device/cuda/plans/model_layers.h"

#include <algorithm>

#include "ridgeline/graph/pass/passes.h"
#include "ridgeline/nn/training_step.h"

namespace ridgeline {
namespace {

constexpr DTypeSet kLibraryTypes{DType::f32, DType::bf16, DType::f16};

// Epilogues as the libraries take them.
FusionLimits library_limits() {
  FusionLimits limits;
  limits.forms = {{"conv2d", "relu", kLibraryTypes}, {"dense", "relu", kLibraryTypes}};
  return limits;
}

std::vector<ValueType> types_of(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<ValueType> types;
  for (const ValueId value : values) types.push_back(graph.value(value).type);
  return types;
}

bool is_library_layer(const Node& node) {
  for (const std::string_view op :
       {"conv2d", "conv2d_bwd_data", "conv2d_bwd_weights", "dense", "dense_bwd_data", "dense_bwd_weights"}) {
    if (node.op == op) return true;
  }
  return false;
}

}  // namespace

std::string ModelLayer::text() const {
  std::string text = node.op;
  for (const auto& [name, value] : node.attributes) text += " " + name + "=" + to_string(value);
  for (const ValueType& type : inputs) text += " " + type.to_string();
  text += " ->";
  for (const ValueType& type : outputs) text += " " + type.to_string();
  return text;
}

std::vector<ModelLayer> layers_of(std::string_view model, std::int64_t batch, DType type) {
  return layers_of(nn::image_classifier({.model = &nn::model_named(model), .batch_size = batch}), type);
}

std::vector<ModelLayer> layers_of(const nn::Network& network, DType type) {
  const nn::Step step = nn::build_training_step(network, {});
  PassContext context{.fusion = library_limits()};
  if (type != DType::f32) context.precision = {.rewrite = PrecisionRewrite::lists, .low = type};
  PassResults results;
  const Graph graph = run_passes(step.graph, context, results, {});
  std::vector<ModelLayer> layers;
  for (const Node& node : graph.nodes) {
    if (!is_library_layer(node)) continue;
    ModelLayer layer{node, types_of(graph, node.inputs), types_of(graph, node.outputs)};
    layer.node.attributes = complete_attributes(op_def(node.op), node.attributes);
    const auto known = std::find_if(layers.begin(), layers.end(),
                                    [&](const ModelLayer& other) { return other.text() == layer.text(); });
    if (known != layers.end()) {
      ++known->count;
    } else {
      layers.push_back(std::move(layer));
    }
  }
  return layers;
}

}  // namespace ridgeline
