#include "ridgeline/compile/settle_layouts.h"

#include <algorithm>

namespace ridgeline {
namespace {

bool stored(const ValueInfo& info) { return info.kind == ValueKind::param || info.kind == ValueKind::state; }

bool updated(const Graph& graph, ValueId id) {
  const auto same = [&](const Update& update) { return update.current == id; };
  return std::any_of(graph.updates.begin(), graph.updates.end(), same);
}

}  // namespace

std::vector<Choice> settle_layouts(const Graph& graph, LayoutGroups& groups, Session& session, bool soft_placement) {
  for (ValueId id : graph.arguments) {
    const ValueInfo& info = graph.value(id);
    if (!stored(info)) continue;
    const auto& entry = session.parameters().declare(info.name, info.type, info.kind);
    if (entry.home_fixed && groups.grouped(id) && !groups.layout(id)) groups.settle(id, entry.home);
  }
  std::vector<Choice> choices(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (op_def(node.op).has(kView)) continue;  // it wants plain rows, but gains nothing by them
    const auto free = [&](ValueId id) { return may_choose_layout(node, id, groups); };
    if (std::none_of(node.inputs.begin(), node.inputs.end(), free)) continue;
    Choice choice = choose_kernel(graph, node, groups, session, soft_placement);
    if (choice.device != &session.parameters().device()) continue;  // parameters lie as their own device wants
    choices[n] = std::move(choice);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Layout wish = choices[n].input_layout(i);
      if (free(node.inputs[i]) && !wish.one_way()) groups.settle(node.inputs[i], wish);
    }
  }
  return choices;
}

void fix_homes(const Graph& graph, const LayoutGroups& groups, ParameterStore& store) {
  const std::vector<int> uses = use_counts(graph);
  for (ValueId id : graph.arguments) {
    const ValueInfo& info = graph.value(id);
    const bool touched = uses[static_cast<std::size_t>(id)] > 0 || updated(graph, id);
    if (!stored(info) || !touched || store.entry(info.name).home_fixed) continue;
    const bool follows = groups.grouped(id) && groups.layout(id);
    store.fix_home(info.name, follows ? *groups.layout(id) : Layout{});
  }
}

}  // namespace ridgeline
