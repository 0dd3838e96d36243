#include "ridgeline/compile/lower/settle_layouts.h"

#include <algorithm>

namespace ridgeline {
namespace {

bool updated(const Graph& graph, ValueId id) {
  const auto same = [&](const Update& update) { return update.current == id; };
  return std::any_of(graph.updates.begin(), graph.updates.end(), same);
}

bool gives_scalars(const Graph& graph, const Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId id) { return graph.value(id).type.shape.rank() == 0; });
}

// Settles what `choice` settles of the node's operands and results; false when that is nothing. A one-way layout is not
// a home, and a result in plain rows is not a preference: most kernels have nothing else.
bool settle(const Node& node, const Choice& choice, ValueLayouts& layouts) {
  bool any = false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Layout wish = choice.input_layout(i);
    if (!layouts.may_choose(node, node.inputs[i]) || wish.one_way()) continue;
    layouts.groups().settle(node.inputs[i], wish);
    any = true;
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Layout wish = choice.output_layout(i);
    if (!layouts.may_choose(node, node.outputs[i]) || wish.plain()) continue;
    layouts.groups().settle(node.outputs[i], wish);
    any = true;
  }
  return any;
}

}  // namespace

std::vector<Choice> settle_stored(const Graph& graph, ValueLayouts& layouts, const Placement& placement, Log& log,
                                  ParameterStore& store, const OpTeams& teams) {
  LayoutGroups& groups = layouts.groups();
  for (ValueId id : graph.arguments) {
    const ValueInfo& info = graph.value(id);
    if (!is_stored(info.kind)) continue;
    const auto& entry = store.declare(info.name, info.type, info.kind);
    if (entry.home_fixed && groups.grouped(id) && !groups.layout(id)) groups.settle(id, entry.home);
  }
  std::vector<Choice> choices(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (op_def(node.op).has(kView)) continue;               // it wants plain rows, but gains nothing by them
    if (op_def(node.op).has(kCollective)) continue;         // any layout does
    if (gives_scalars(graph, node)) continue;               // a sum over all elements, read once, gains nothing either
    if (placement.devices[n] != &store.device()) continue;  // parameters lie as their own device wants
    const auto open = [&](ValueId id) { return layouts.may_choose(node, id); };
    if (std::none_of(node.inputs.begin(), node.inputs.end(), open) &&
        std::none_of(node.outputs.begin(), node.outputs.end(), open)) {
      continue;
    }
    const ComputeScope team(teams.of(n));
    Choice choice = choose_kernel(graph, node, layouts, *placement.devices[n], log);
    if (settle(node, choice, layouts)) choices[n] = std::move(choice);
  }
  return choices;
}

bool take_back_layouts(const Graph& graph, ValueLayouts& layouts, std::vector<Choice>& choices) {
  std::vector<bool> disputed(graph.values.size(), false);
  bool any = false;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (!choices[n].kernel) continue;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (!layouts.made_blocked(id) || choices[n].input_layout(i) == layouts.layout(id)) continue;
      disputed[static_cast<std::size_t>(id)] = any = true;
    }
  }
  if (!any) return false;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const auto touched = [&](ValueId id) { return disputed[static_cast<std::size_t>(id)]; };
    if (std::any_of(node.inputs.begin(), node.inputs.end(), touched) ||
        std::any_of(node.outputs.begin(), node.outputs.end(), touched)) {
      choices[n] = {};
    }
  }
  for (std::size_t v = 0; v < disputed.size(); ++v) {
    if (disputed[v]) layouts.fix_plain(static_cast<ValueId>(v));
  }
  return true;
}

void fix_homes(const Graph& graph, const LayoutGroups& groups, ParameterStore& store) {
  const std::vector<int> uses = use_counts(graph);
  for (ValueId id : graph.arguments) {
    const ValueInfo& info = graph.value(id);
    const bool touched = uses[static_cast<std::size_t>(id)] > 0 || updated(graph, id);
    if (!is_stored(info.kind) || !touched || store.entry(info.name).home_fixed) continue;
    const bool follows = groups.grouped(id) && groups.layout(id);
    store.fix_home(info.name, follows ? *groups.layout(id) : Layout{});
  }
}

}  // namespace ridgeline
