#include "ridgeline/graph/pass/schedule.h"

#include <functional>
#include <queue>
#include <set>

#include "ridgeline/core/error.h"

namespace ridgeline {

Graph schedule(Graph graph) {
  const std::size_t count = graph.nodes.size();
  const std::vector<int> producer = producers(graph);
  std::vector<std::set<std::size_t>> successors(count);
  std::vector<bool> updates(count, false);
  const auto add_edge = [&](int from, std::size_t to) {
    if (from >= 0 && static_cast<std::size_t>(from) != to) successors[static_cast<std::size_t>(from)].insert(to);
  };
  for (std::size_t i = 0; i < count; ++i) {
    for (ValueId id : graph.nodes[i].inputs) add_edge(producer[static_cast<std::size_t>(id)], i);
  }
  // Readers of version n come before the op that makes version n+1.
  for (const Update& update : graph.updates) {
    const int writer = producer[static_cast<std::size_t>(update.next)];
    if (writer < 0) continue;
    updates[static_cast<std::size_t>(writer)] = true;
    for (std::size_t i = 0; i < count; ++i) {
      for (ValueId id : graph.nodes[i].inputs) {
        if (id == update.current) add_edge(static_cast<int>(i), static_cast<std::size_t>(writer));
      }
    }
  }
  std::vector<int> waiting(count, 0);
  for (const auto& targets : successors) {
    for (std::size_t to : targets) ++waiting[to];
  }
  // Ready updates go first, everything else in its old order.
  using Key = std::pair<bool, std::size_t>;
  std::priority_queue<Key, std::vector<Key>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i) {
    if (waiting[i] == 0) ready.emplace(!updates[i], i);
  }
  std::vector<Node> ordered;
  while (!ready.empty()) {
    const std::size_t i = ready.top().second;
    ready.pop();
    for (std::size_t to : successors[i]) {
      if (--waiting[to] == 0) ready.emplace(!updates[to], to);
    }
    ordered.push_back(std::move(graph.nodes[i]));
  }
  if (ordered.size() != count) {
    throw Error("graph @" + graph.name +
                " reads a parameter after it must have been updated: no order of its ops is valid");
  }
  graph.nodes = std::move(ordered);
  return graph;
}

}  // namespace ridgeline
