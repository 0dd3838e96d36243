#include "ridgeline/graph/pass/fuse_dense_update.h"

#include <algorithm>
#include <set>

#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/loop/text.h"
#include "ridgeline/graph/pass/rewrite.h"

namespace ridgeline {
namespace {

// An update of one f32 matrix by a loop expression over its states, a gradient and scalars.
bool matrix_update(const Graph& graph, const Node& node) {
  const OpDef& def = op_def(node.op);
  const std::size_t states = node.outputs.size();
  if (!def.has(kUpdate) || !def.has(kPointwise) || static_cast<std::size_t>(def.gradient_operand) != states)
    return false;
  const ValueType type = graph.value(node.outputs[0]).type;
  if (type.dtype != DType::f32 || type.shape.rank() != 2) return false;
  for (std::size_t i = states + 1; i < node.inputs.size(); ++i) {
    const ValueType& scalar = graph.value(node.inputs[i]).type;
    if (scalar.shape.rank() != 0 || (scalar.dtype != DType::f32 && scalar.dtype != DType::boolean)) return false;
  }
  return true;
}

Node merged(const Node& gradient, const Node& update) {
  const std::size_t states = update.outputs.size();
  const auto states_end = update.inputs.begin() + static_cast<std::ptrdiff_t>(states);
  const bool bias = gradient.outputs.size() == 2;
  Node node;
  node.op = "dense_update";
  node.name = update.name;
  node.attributes = complete_attributes(
      op_def(node.op), {{"expression", loop::to_string(op_def(update.op).expression(update.attributes))},
                        {"states", static_cast<std::int64_t>(states)},
                        {"bias", bias}});
  node.inputs.assign(update.inputs.begin(), states_end);
  node.inputs.insert(node.inputs.end(), gradient.inputs.begin(), gradient.inputs.end());
  node.inputs.insert(node.inputs.end(), states_end + 1, update.inputs.end());
  node.outputs = update.outputs;
  if (bias) node.outputs.push_back(gradient.outputs[1]);
  add_locations(node, gradient);
  add_locations(node, update);
  return node;
}

}  // namespace

Graph fuse_dense_update(Graph graph, PassContext& context) {
  const ValueUses uses(graph);
  std::set<int> gone;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& update = graph.nodes[n];
    if (!matrix_update(graph, update) || context.keep_apart.contains(update.name)) continue;
    const ValueId dw = update.inputs[update.outputs.size()];
    const int made = uses.producer(dw);
    if (made < 0 || uses.count(dw) != 1) continue;
    const Node& gradient = graph.nodes[static_cast<std::size_t>(made)];
    if (gradient.op != "dense_bwd_weights" || gradient.outputs[0] != dw) continue;
    const ValueType& x = graph.value(gradient.inputs[0]).type;
    if (!context.fusion.takes_dense_update(x, graph.value(update.outputs[0]).type)) continue;
    if (!may_run_later(graph, made, static_cast<int>(n))) continue;
    context.fused.insert(update.name);
    gone.insert(made);
    graph.nodes[n] = merged(gradient, update);
  }
  std::vector<Node> kept;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!gone.contains(static_cast<int>(n))) kept.push_back(std::move(graph.nodes[n]));
  }
  graph.nodes = std::move(kept);
  return graph;
}

}  // namespace ridgeline
