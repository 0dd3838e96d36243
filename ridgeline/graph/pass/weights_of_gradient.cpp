#include "ridgeline/graph/pass/weights_of_gradient.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace ridgeline {

ValueId weights_of_gradient(const Graph& graph, const Node& gradient) {
  const ValueId dw = gradient.outputs[0];
  const auto of_shape = [&](ValueId id) { return graph.value(id).type.shape == graph.value(dw).type.shape; };
  std::set<ValueId> weights;
  for (const Node& node : graph.nodes) {
    if (node.op == "dense" && node.inputs[0] == gradient.inputs[0] && of_shape(node.inputs[1]))
      weights.insert(node.inputs[1]);
  }
  if (weights.size() == 1) return *weights.begin();
  // Of several layers, the one whose weights an op reads together with the gradient, or with what becomes of it.
  std::set<ValueId> reached{dw};
  for (const Node& node : graph.nodes) {
    if (std::none_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return reached.contains(id); }))
      continue;
    for (ValueId id : node.inputs) {
      if (weights.contains(id)) return id;
    }
    std::copy_if(node.outputs.begin(), node.outputs.end(), std::inserter(reached, reached.end()), of_shape);
  }
  return kNoValue;
}

}  // namespace ridgeline
