#include "ridgeline/graph/pass/fuse_data_gradient.h"

#include "ridgeline/graph/pass/rewrite.h"

namespace ridgeline {
namespace {

// Merges relu_grad at index `at` into the conv2d_bwd_data whose result it reads; false when it cannot.
bool merge_gate(Graph& graph, const ValueUses& uses, PassContext& context, int at) {
  const Node gate = graph.nodes[static_cast<std::size_t>(at)];
  if (gate.op != "relu_grad") return false;
  const ValueId y = gate.inputs[0];
  const ValueId dx = gate.inputs[1];
  const ValueType& type = graph.value(dx).type;
  const int node_at = uses.producer(dx);
  if (node_at < 0 || uses.count(dx) != 1 || uses.producer(y) >= node_at || graph.value(y).type != type) return false;
  const Node& node = graph.nodes[static_cast<std::size_t>(node_at)];
  if (node.op != "conv2d_bwd_data" || node.inputs.size() != 2 || context.keep_apart.contains(node.name) ||
      !context.fusion.data_gradients.contains(type.dtype)) {
    return false;
  }
  Node merged = node;
  merged.inputs.push_back(y);
  if (context.keeps_kernel && !context.keeps_kernel(graph, node, merged)) return false;
  add_locations(merged, gate);
  context.fused.insert(merged.name);
  graph.nodes[static_cast<std::size_t>(node_at)] = std::move(merged);
  graph.replace_uses(gate.outputs[0], dx);
  graph.nodes.erase(graph.nodes.begin() + at);
  return true;
}

}  // namespace

Graph fuse_data_gradient(Graph graph, PassContext& context) {
  ValueUses uses(graph);
  for (int at = 0; at < static_cast<int>(graph.nodes.size()); ++at) {
    if (!merge_gate(graph, uses, context, at)) continue;
    --at;
    uses = ValueUses(graph);
  }
  return graph;
}

}  // namespace ridgeline
