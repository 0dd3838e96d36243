#include "ridgeline/graph/pass/fuse_addend.h"

#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/pass/rewrite.h"

namespace ridgeline {
namespace {

// True when `node` has an operand for an addend, and none there.
bool has_room(const Node& node) {
  const OpDef& def = op_def(node.op);
  return !def.operands.empty() && def.operands.back() == "addend" &&
         static_cast<int>(node.inputs.size()) + 1 == def.max_operands;
}

// The op that makes `id` and can add to it, or -1.
int taker(const Graph& graph, const ValueUses& uses, const PassContext& context, ValueId id) {
  const int at = uses.producer(id);
  if (at < 0 || uses.count(id) != 1) return -1;
  const Node& node = graph.nodes[static_cast<std::size_t>(at)];
  if (!context.fusion.takes_addend(node.op, graph.value(id).type.dtype) || context.keep_apart.contains(node.name)) {
    return -1;
  }
  const bool fits = node.outputs[0] == id && has_room(node) && node.attributes.string("activation") == "none";
  return fits ? at : -1;
}

// Merges the sum at index `at` into one of the ops that make its operands; false when it cannot.
bool merge_addend(Graph& graph, const ValueUses& uses, PassContext& context, int at) {
  const Node sum = graph.nodes[static_cast<std::size_t>(at)];
  if (sum.op != "add" || graph.value(sum.inputs[0]).type != graph.value(sum.inputs[1]).type) return false;
  const bool first_is_later = uses.producer(sum.inputs[0]) > uses.producer(sum.inputs[1]);
  for (const bool first : {first_is_later, !first_is_later}) {
    const ValueId mine = sum.inputs[first ? 0 : 1];
    const ValueId other = sum.inputs[first ? 1 : 0];
    const int node_at = taker(graph, uses, context, mine);
    if (node_at < 0) continue;
    const bool ready = uses.producer(other) < node_at;
    if (!ready && !may_run_later(graph, node_at, at)) continue;
    Node& node = graph.nodes[static_cast<std::size_t>(node_at)];
    node.inputs.push_back(other);
    add_locations(node, sum);
    context.fused.insert(node.name);
    graph.replace_uses(sum.outputs[0], mine);
    graph.nodes.erase(graph.nodes.begin() + at);
    if (!ready) move_node(graph, node_at, at - 1);
    return true;
  }
  return false;
}

}  // namespace

Graph fuse_addend(Graph graph, PassContext& context) {
  ValueUses uses(graph);
  for (int at = 0; at < static_cast<int>(graph.nodes.size()); ++at) {
    if (!merge_addend(graph, uses, context, at)) continue;
    --at;
    uses = ValueUses(graph);
  }
  return graph;
}

}  // namespace ridgeline
