#include "ridgeline/graph/pass/fuse_norm_gradient.h"

#include <algorithm>

#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/pass/rewrite.h"

namespace ridgeline {
namespace {

// The batch norm whose gradient `gradient` is, when y is relu(batch norm) and nothing else, or null.
const Node* batch_norm_of(const Graph& graph, const ValueUses& uses, const Node& gradient, ValueId y) {
  const int at = uses.producer(y);
  if (at < 0) return nullptr;
  const Node& norm = graph.nodes[static_cast<std::size_t>(at)];
  const bool alone = norm.op == "batch_norm_train" && norm.outputs[0] == y && norm.inputs.size() == 5 &&
                     norm.attributes.string("activation") == "relu";
  const bool same = alone && norm.inputs[0] == gradient.inputs[0] && norm.inputs[1] == gradient.inputs[2] &&
                    norm.outputs[1] == gradient.inputs[3] && norm.outputs[2] == gradient.inputs[4];
  return same ? &norm : nullptr;
}

bool plain(const Node& gradient) {
  return gradient.attributes.string("gate") == "none" && !gradient.attributes.boolean("addend") &&
         !gradient.attributes.boolean("passed");
}

// True when an update in front of index `at` overwrites what `node` reads.
bool overwritten_before(const Graph& graph, const Node& node, int at) {
  return std::any_of(graph.nodes.begin(), graph.nodes.begin() + at, [&](const Node& other) {
    const auto states = static_cast<std::ptrdiff_t>(updated_operands(other));
    return std::find_first_of(other.inputs.begin(), other.inputs.begin() + states, node.inputs.begin(),
                              node.inputs.end()) != other.inputs.begin() + states;
  });
}

// Merges relu_grad into the batch_norm_bwd at index `at`; false when it cannot.
bool merge_gradient(Graph& graph, const ValueUses& uses, PassContext& context, int at) {
  Node node = graph.nodes[static_cast<std::size_t>(at)];
  if (node.op != "batch_norm_bwd" || !plain(node) || context.keep_apart.contains(node.name)) return false;
  const ValueId dy = node.inputs[1];
  const ValueType type = graph.value(dy).type;
  const int gate_at = uses.producer(dy);
  if (gate_at < 0 || !context.fusion.norm_gradients.contains(type.dtype)) return false;
  const Node gate = graph.nodes[static_cast<std::size_t>(gate_at)];
  if (gate.op != "relu_grad" || graph.value(gate.inputs[0]).type != type || graph.value(gate.inputs[1]).type != type) {
    return false;
  }
  const ValueId y = gate.inputs[0];
  const Node* norm = batch_norm_of(graph, uses, node, y);
  node.attributes.set("gate", std::string(norm != nullptr ? "of_x" : "of_y"));
  node.inputs[1] = gate.inputs[1];
  node.inputs.push_back(norm != nullptr ? norm->inputs[2] : y);
  add_locations(node, gate);
  const int sum_at = uses.producer(gate.inputs[1]);
  if (sum_at >= 0 && uses.count(gate.inputs[1]) == 1) {
    const Node& sum = graph.nodes[static_cast<std::size_t>(sum_at)];
    if (sum.op == "add" && graph.value(sum.inputs[0]).type == type && graph.value(sum.inputs[1]).type == type) {
      node.attributes.set("addend", true);
      node.inputs[1] = sum.inputs[0];
      node.inputs.push_back(sum.inputs[1]);
      add_locations(node, sum);
    }
  }
  // Others read what passes the gate from its place on, where then all that the gradient reads must exist.
  const bool passed = uses.count(dy) > 1;
  const auto made_later = [&](ValueId id) { return uses.producer(id) > gate_at; };
  if (passed && std::any_of(node.inputs.begin(), node.inputs.end(), made_later)) return false;
  if (overwritten_before(graph, node, passed ? gate_at : at)) return false;
  if (passed) {
    node.attributes.set("passed", true);
    const ValueId passed = graph.add_value({type, graph.value(dy).kind, ""});
    node.outputs.push_back(passed);
    graph.replace_uses(dy, passed);
  }
  context.fused.insert(node.name);
  graph.nodes[static_cast<std::size_t>(at)] = std::move(node);
  graph.nodes.erase(graph.nodes.begin() + gate_at);
  if (passed) move_node(graph, at - 1, gate_at);
  return true;
}

}  // namespace

Graph fuse_norm_gradient(Graph graph, PassContext& context) {
  ValueUses uses(graph);
  for (int at = 0; at < static_cast<int>(graph.nodes.size());) {
    // Where one has merged, the op behind it stands at its index now.
    if (merge_gradient(graph, uses, context, at))
      uses = ValueUses(graph);
    else
      ++at;
  }
  remove_dead_nodes(graph);
  return graph;
}

}  // namespace ridgeline
