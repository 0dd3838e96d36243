#include "ridgeline/graph/pass/narrow_relu_grad.h"

#include <algorithm>

#include "ridgeline/graph/pass/rewrite.h"

namespace ridgeline {
namespace {

// Only then is `pooled` what the index names.
bool same_windows(const Node& forward, const Node& backward) {
  return std::all_of(forward.attributes.begin(), forward.attributes.end(), [&](const auto& attribute) {
    const Attribute* other = backward.attributes.find(attribute.first);
    return other != nullptr && *other == attribute.second;
  });
}

// Exchanges the relu_grad at index `at` and the max_pool_bwd whose result it reads; false when it cannot.
bool exchange(Graph& graph, const ValueUses& uses, const PassContext& context, int at) {
  const Node gate = graph.nodes[static_cast<std::size_t>(at)];
  if (gate.op != "relu_grad" || graph.value(gate.inputs[0]).type != graph.value(gate.inputs[1]).type) return false;
  const ValueId y = gate.inputs[0];
  const ValueId wide = gate.inputs[1];
  const int pool_at = uses.producer(wide);
  if (pool_at < 0 || uses.count(wide) != 1) return false;
  const Node pool = graph.nodes[static_cast<std::size_t>(pool_at)];
  if (pool.op != "max_pool_bwd") return false;
  const int forward_at = uses.producer(pool.inputs[1]);
  if (forward_at < 0) return false;
  const Node& forward = graph.nodes[static_cast<std::size_t>(forward_at)];
  if (forward.op != "max_pool" || forward.inputs[0] != y || !same_windows(forward, pool)) return false;
  const ValueId dy = pool.inputs[0];
  const DType type = graph.value(dy).type.dtype;
  if (context.takes && !(context.takes(gate.op, type) && context.takes(pool.op, type))) return false;
  const ValueId narrow = graph.add_value({graph.value(dy).type, graph.value(wide).kind, ""});
  Node& first = graph.nodes[static_cast<std::size_t>(pool_at)];
  Node& second = graph.nodes[static_cast<std::size_t>(at)];
  first = gate;
  first.inputs = {forward.outputs[0], dy};
  first.outputs = {narrow};
  second = pool;
  second.inputs[0] = narrow;
  second.outputs = gate.outputs;
  return true;
}

}  // namespace

Graph narrow_relu_grad(Graph graph, PassContext& context) {
  ValueUses uses(graph);
  for (int at = 0; at < static_cast<int>(graph.nodes.size()); ++at) {
    if (exchange(graph, uses, context, at)) uses = ValueUses(graph);
  }
  remove_dead_nodes(graph);
  return graph;
}

}  // namespace ridgeline
