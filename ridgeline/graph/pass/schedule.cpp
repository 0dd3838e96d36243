#include "ridgeline/graph/pass/schedule.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {
namespace {

// What must run before what.
class Order {
 public:
  explicit Order(const Graph& graph) : successors_(graph.nodes.size()), urgent_(graph.nodes.size(), false) {
    const std::vector<int> producer = producers(graph);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (ValueId id : graph.nodes[i].inputs) before(producer[static_cast<std::size_t>(id)], i);
    }
  }

  // Readers of version n come before the op that makes version n+1; those of casts of it as well, where `casts`
  // (compilation makes a cast from version n when it is read).
  void add_readers_before(const Graph& graph, const Update& update, std::size_t writer, bool casts) {
    urgent_[writer] = true;
    std::set<ValueId> version = {update.current};
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      for (ValueId id : node.inputs) {
        if (!version.contains(id)) continue;
        before(static_cast<int>(i), writer);
        if (casts && op_def(node.op).has(kCast)) version.insert(node.outputs[0]);
      }
    }
  }

  // The ops in order: ready writers of next versions first, everything else as it was. Fewer ops than the graph has
  // where the wishes contradict each other.
  std::vector<std::size_t> sorted() const {
    std::vector<int> waiting(successors_.size(), 0);
    for (const auto& targets : successors_) {
      for (std::size_t to : targets) ++waiting[to];
    }
    using Key = std::pair<bool, std::size_t>;
    std::priority_queue<Key, std::vector<Key>, std::greater<>> ready;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i] == 0) ready.emplace(!urgent_[i], i);
    }
    std::vector<std::size_t> order;
    while (!ready.empty()) {
      const std::size_t i = ready.top().second;
      ready.pop();
      for (std::size_t to : successors_[i]) {
        if (--waiting[to] == 0) ready.emplace(!urgent_[to], to);
      }
      order.push_back(i);
    }
    return order;
  }

 private:
  void before(int from, std::size_t to) {
    if (from >= 0 && static_cast<std::size_t>(from) != to) successors_[static_cast<std::size_t>(from)].insert(to);
  }

  std::vector<std::set<std::size_t>> successors_;
  std::vector<bool> urgent_;
};

// Whether the op at the value's place is an update of this very argument, which it overwrites.
bool overwrites(const Node& node, const Update& update) {
  if (!op_def(node.op).has(kUpdate)) return false;
  const auto result = std::find(node.outputs.begin(), node.outputs.end(), update.next) - node.outputs.begin();
  return node.inputs[static_cast<std::size_t>(result)] == update.current;
}

}  // namespace

Graph schedule(Graph graph) {
  const std::vector<int> producer = producers(graph);
  // An update op must see no later reader of what it overwrites. For other ops, and for readers of casts, it is a wish
  // (the op can then write in place), given up where ops read each other's old versions: a = a + b beside b = a - b.
  Order musts(graph);
  Order wishes(graph);
  for (const Update& update : graph.updates) {
    const int writer = producer[static_cast<std::size_t>(update.next)];
    if (writer < 0) continue;
    const auto at = static_cast<std::size_t>(writer);
    wishes.add_readers_before(graph, update, at, true);
    if (overwrites(graph.nodes[at], update)) musts.add_readers_before(graph, update, at, false);
  }
  std::vector<std::size_t> order = wishes.sorted();
  if (order.size() != graph.nodes.size()) order = musts.sorted();
  if (order.size() != graph.nodes.size()) {
    throw Error("graph @" + graph.name +
                " reads a parameter after it must have been updated: no order of its ops is valid");
  }
  std::vector<Node> ordered;
  for (std::size_t i : order) ordered.push_back(std::move(graph.nodes[i]));
  graph.nodes = std::move(ordered);
  return graph;
}

}  // namespace ridgeline
