#include "ridgeline/graph/pass/follows_batch.h"

#include <algorithm>
#include <set>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

std::vector<bool> follows_batch(const Graph& graph, const std::function<Follows(const Node&)>& of,
                                std::span<const ValueId> also) {
  std::vector<bool> follows(graph.values.size(), false);
  const auto at = [&](ValueId id) { return follows[static_cast<std::size_t>(id)]; };
  const auto mark = [&](ValueId id) { follows[static_cast<std::size_t>(id)] = true; };
  for (const ValueId id : graph.arguments) {
    if (graph.value(id).kind == ValueKind::input) mark(id);
  }
  std::for_each(also.begin(), also.end(), mark);
  for (const Node& node : graph.nodes) {
    const Follows kind = of ? of(node) : Follows::as_operands;
    const bool any = kind == Follows::yes ||
                     (kind == Follows::as_operands && std::any_of(node.inputs.begin(), node.inputs.end(), at));
    if (any) std::for_each(node.outputs.begin(), node.outputs.end(), mark);
  }
  return follows;
}

std::function<Follows(const Node&)> unless_exchanged(std::string group) {
  return [group = std::move(group), pending = std::set<ValueId>()](const Node& node) mutable {
    const OpDef& def = op_def(node.op);
    const bool start = def.has(kStart) && node.attributes.string("group") == group;
    if (start) pending.insert(node.outputs[0]);
    return start || (def.has(kDone) && pending.contains(node.inputs[0])) ? Follows::no : Follows::as_operands;
  };
}

}  // namespace ridgeline
