#include "ridgeline/compile/lower/constant_values.h"

#include <algorithm>
#include <set>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

ConstantValues constant_values(const Graph& graph) {
  const auto at = [](ValueId id) { return static_cast<std::size_t>(id); };
  std::vector<bool> stored(graph.values.size(), false);
  for (ValueId id : graph.arguments) {
    const ValueKind kind = graph.value(id).kind;
    stored[at(id)] = kind == ValueKind::param || kind == ValueKind::state;
  }
  std::vector<bool> fixed = stored;                      // the same in every run: numbers among them
  std::vector<bool> leaves(graph.values.size(), false);  // is returned or becomes a stored value
  for (const Return& r : graph.returns) leaves[at(r.value)] = true;
  for (const Update& update : graph.updates) {
    if (update.next != update.current) fixed[at(update.current)] = false;
    leaves[at(update.next)] = true;
  }
  ConstantValues constants{std::vector<bool>(graph.values.size(), false), {}};
  std::set<std::string> sources;
  for (const Node& node : graph.nodes) {
    // Exchanges run every time, on all ranks.
    const bool constant =
        !op_def(node.op).has(kCollective) &&
        std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return fixed[at(id)]; }) &&
        std::none_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return leaves[at(id)]; });
    if (!constant) continue;
    const auto follows = [&](ValueId id) { return stored[at(id)] || constants.values[at(id)]; };
    const bool made = std::any_of(node.inputs.begin(), node.inputs.end(), follows);
    for (ValueId id : node.outputs) {
      fixed[at(id)] = true;
      constants.values[at(id)] = made;
    }
    for (ValueId id : node.inputs) {
      if (stored[at(id)]) sources.insert(graph.value(id).name);
    }
  }
  constants.sources.assign(sources.begin(), sources.end());
  return constants;
}

}  // namespace ridgeline
