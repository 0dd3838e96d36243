#include "ridgeline/graph/pass/fusion/pattern.h"

#include <algorithm>

namespace ridgeline {
namespace {

bool device_takes(const FusionPattern& pattern, const Fusion& fusion, const Graph& graph, const PassContext& context) {
  if (fusion.form) return context.fusion.takes(*fusion.form);
  if (pattern.exchanges) {
    return !context.takes ||
           std::all_of(fusion.changed.begin(), fusion.changed.end(), [&](const Fusion::Changed& changed) {
             const Node& before = graph.nodes[static_cast<std::size_t>(changed.at)];
             return context.takes(changed.node.op, graph.value(before.outputs[0]).type.dtype);
           });
  }
  return !context.keeps_kernel ||
         std::all_of(fusion.changed.begin(), fusion.changed.end(), [&](const Fusion::Changed& changed) {
           return context.keeps_kernel(graph, graph.nodes[static_cast<std::size_t>(changed.at)], changed.node);
         });
}

bool kept_apart(const Fusion& fusion, const PassContext& context) {
  return std::any_of(fusion.changed.begin(), fusion.changed.end(),
                     [&](const Fusion::Changed& changed) { return context.keep_apart.contains(changed.node.name); });
}

// How many of the ops before `at` stay.
int kept_before(const Fusion& fusion, int at) {
  return at - static_cast<int>(std::count_if(fusion.gone.begin(), fusion.gone.end(), [&](int n) { return n < at; }));
}

void apply(Fusion fusion, Graph& graph) {
  for (ValueInfo& value : fusion.values) graph.add_value(std::move(value));
  for (Fusion::Changed& changed : fusion.changed)
    graph.nodes[static_cast<std::size_t>(changed.at)] = std::move(changed.node);
  for (const auto& [from, to] : fusion.reread) graph.replace_uses(from, to);
  std::sort(fusion.gone.rbegin(), fusion.gone.rend());
  for (int n : fusion.gone) graph.nodes.erase(graph.nodes.begin() + n);
  if (fusion.moved_to < 0) return;
  const int from = kept_before(fusion, fusion.changed[0].at), to = kept_before(fusion, fusion.moved_to);
  move_node(graph, from, from < to ? to - 1 : to);
}

}  // namespace

int FusionPlace::only_read_here(ValueId id, std::string_view op) const {
  const int made = uses.producer(id);
  if (made < 0 || uses.count(id) != 1) return -1;
  return op.empty() || graph.nodes[static_cast<std::size_t>(made)].op == op ? made : -1;
}

Graph fuse(const FusionPattern& pattern, Graph graph, const PassContext& context, PassResults& results) {
  ValueUses uses(graph);
  for (int at = 0; at < static_cast<int>(graph.nodes.size()); ++at) {
    for (Fusion& fusion : pattern.match({graph, uses, at})) {
      if (!pattern.exchanges && kept_apart(fusion, context)) continue;
      if (!device_takes(pattern, fusion, graph, context)) continue;
      if (!pattern.exchanges) {
        for (const Fusion::Changed& changed : fusion.changed) results.fused.insert(changed.node.name);
      }
      // The op after this one moves forward by as many positions as ops before it were removed.
      at = kept_before(fusion, at + 1) - 1;
      apply(std::move(fusion), graph);
      uses = ValueUses(graph);
      break;
    }
  }
  remove_dead_nodes(graph);
  return graph;
}

}  // namespace ridgeline
