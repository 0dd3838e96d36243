#include "ridgeline/compile/lower/layout_groups.h"

#include <algorithm>
#include <map>

#include "ridgeline/graph/op/collective.h"
#include "ridgeline/graph/pass/derived_casts.h"

namespace ridgeline {

LayoutGroups::LayoutGroups(const Graph& graph)
    : parent_(graph.values.size()), has_argument_(graph.values.size(), false), layouts_(graph.values.size()) {
  for (std::size_t i = 0; i < parent_.size(); ++i) parent_[i] = i;
  for (ValueId id : graph.arguments) {
    const ValueInfo& info = graph.value(id);
    if (is_stored(info.kind) && info.type.shape.rank() >= 2) has_argument_[static_cast<std::size_t>(id)] = true;
  }
  // A rounded copy is a derived form: its first reader chooses the layout.
  for (const auto& [copy, parameter] : derived_casts(graph)) {
    if (has_argument_[static_cast<std::size_t>(parameter)]) has_argument_[static_cast<std::size_t>(copy)] = true;
  }
  std::map<ValueId, const Node*> starts;  // by what is in flight
  for (const Node& node : graph.nodes) {
    const OpDef& def = op_def(node.op);
    if (def.has(kStart) && collective_rule(node).packed) starts[node.outputs[0]] = &node;
    if (!def.has(kDone)) continue;
    // What is exchanged keeps its layout: exchanges are elementwise, whatever the layout.
    const auto start = starts.find(node.inputs[0]);
    if (start == starts.end()) continue;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) join(start->second->inputs[i], node.outputs[i]);
  }
  for (const Node& node : graph.nodes) {
    const bool pointwise = op_def(node.op).has(kPointwise);
    const std::size_t states = updated_operands(node);
    if (!pointwise && states == 0) continue;
    std::vector<ValueId> firsts;  // one of each type
    const auto visit = [&](ValueId id) {
      const ValueType& type = graph.value(id).type;
      const auto same = [&](ValueId first) { return graph.value(first).type == type; };
      const auto first = std::find_if(firsts.begin(), firsts.end(), same);
      if (first != firsts.end())
        join(*first, id);
      else
        firsts.push_back(id);
    };
    // Of other updates, only the updated values have the same layout.
    for (std::size_t i = 0; i < (pointwise ? node.outputs.size() : states); ++i) visit(node.outputs[i]);
    for (std::size_t i = 0; i < (pointwise ? node.inputs.size() : states); ++i) visit(node.inputs[i]);
  }
}

std::size_t LayoutGroups::root(ValueId id) const {
  auto i = static_cast<std::size_t>(id);
  while (parent_[i] != i) i = parent_[i];
  return i;
}

void LayoutGroups::join(ValueId a, ValueId b) {
  const std::size_t x = root(a);
  const std::size_t y = root(b);
  if (x == y) return;
  parent_[y] = x;
  has_argument_[x] = has_argument_[x] || has_argument_[y];
}

}  // namespace ridgeline
