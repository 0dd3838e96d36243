#include "ridgeline/graph/ir/graph.h"

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

std::string_view name_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::input: return "input";
    case ValueKind::param: return "param";
    case ValueKind::state: return "state";
    case ValueKind::grad: return "grad";
    case ValueKind::activation: return "activation";
  }
  RIDGELINE_CHECK(false, "unknown kind");
}

ValueId Graph::add_value(ValueInfo info) {
  values.push_back(std::move(info));
  return static_cast<ValueId>(values.size()) - 1;
}

ValueId Graph::find_argument(std::string_view wanted) const {
  for (ValueId id : arguments) {
    if (value(id).name == wanted) return id;
  }
  return kNoValue;
}

ValueId Graph::find_return(std::string_view wanted) const {
  for (const Return& r : returns) {
    if (r.name == wanted) return r.value;
  }
  return kNoValue;
}

void Graph::replace_uses(ValueId from, ValueId to) {
  for (Node& node : nodes) std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  for (Update& update : updates) {
    if (update.next == from) update.next = to;
  }
  for (Return& r : returns) {
    if (r.value == from) r.value = to;
  }
}

std::vector<int> producers(const Graph& graph) {
  std::vector<int> producer(graph.values.size(), -1);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (ValueId id : graph.nodes[i].outputs) producer[static_cast<std::size_t>(id)] = static_cast<int>(i);
  }
  return producer;
}

std::vector<int> use_counts(const Graph& graph) {
  std::vector<int> count(graph.values.size(), 0);
  for (const Node& node : graph.nodes) {
    for (ValueId id : node.inputs) ++count[static_cast<std::size_t>(id)];
  }
  for (const Update& update : graph.updates) ++count[static_cast<std::size_t>(update.next)];
  for (const Return& r : graph.returns) ++count[static_cast<std::size_t>(r.value)];
  return count;
}

void remove_dead_nodes(Graph& graph) {
  std::vector<bool> live(graph.values.size(), false);
  for (const Update& update : graph.updates) live[static_cast<std::size_t>(update.next)] = true;
  for (const Return& r : graph.returns) live[static_cast<std::size_t>(r.value)] = true;
  std::vector<Node> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const OpDef* def = find_op(node->op);
    const bool seen = def != nullptr && def->has(kCollective);  // other ranks take part in it
    const bool needed = seen || std::any_of(node->outputs.begin(), node->outputs.end(),
                                            [&](ValueId id) { return live[static_cast<std::size_t>(id)]; });
    if (!needed) continue;
    for (ValueId id : node->inputs) live[static_cast<std::size_t>(id)] = true;
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);

  std::vector<ValueId> renamed(graph.values.size(), kNoValue);
  std::vector<ValueInfo> values;
  const auto keep = [&](ValueId id) {
    renamed[static_cast<std::size_t>(id)] = static_cast<ValueId>(values.size());
    values.push_back(graph.value(id));
  };
  for (ValueId id : graph.arguments) keep(id);
  for (const Node& node : graph.nodes) {
    for (ValueId id : node.outputs) keep(id);
  }
  const auto rename = [&](ValueId& id) {
    id = renamed[static_cast<std::size_t>(id)];
    RIDGELINE_CHECK(id != kNoValue, "a live value has no producer");
  };
  for (ValueId& id : graph.arguments) rename(id);
  for (Node& node : graph.nodes) {
    for (ValueId& id : node.inputs) rename(id);
    for (ValueId& id : node.outputs) rename(id);
  }
  for (Update& update : graph.updates) {
    rename(update.current);
    rename(update.next);
  }
  for (Return& r : graph.returns) rename(r.value);
  graph.values = std::move(values);
}

}  // namespace ridgeline
