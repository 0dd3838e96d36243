#include "ridgeline/graph/pass/schedule.h"

#include <functional>
#include <map>
#include <queue>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {
namespace {

// By stored value: the update op that overwrites it, which must see no later reader (verifier.h).
std::map<ValueId, std::size_t> overwriters(const Graph& graph) {
  std::map<ValueId, std::size_t> found;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    for (std::size_t k = 0; k < updated_operands(node); ++k) {
      if (is_stored(graph.value(node.inputs[k]).kind)) found.emplace(node.inputs[k], i);
    }
  }
  return found;
}

// Which ops must run before which, and which should.
class Order {
 public:
  explicit Order(const Graph& graph) : successors_(graph.nodes.size()), urgent_(graph.nodes.size(), false) {
    const std::vector<int> producer = producers(graph);
    const std::map<ValueId, std::size_t> overwriter = overwriters(graph);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (ValueId id : graph.nodes[i].inputs) {
        before(producer[static_cast<std::size_t>(id)], i);
        if (const auto at = overwriter.find(id); at != overwriter.end()) before(static_cast<int>(i), at->second);
      }
    }
  }

  void hurry(std::size_t writer) { urgent_[writer] = true; }

  // Readers of version n, and of casts of it (compilation makes those from version n when they are read), come before
  // the op that makes version n+1.
  void add_readers_before(const Graph& graph, const Update& update, std::size_t writer) {
    std::set<ValueId> version = {update.current};
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      for (ValueId id : node.inputs) {
        if (!version.contains(id)) continue;
        before(static_cast<int>(i), writer);
        if (op_def(node.op).has(kCast)) version.insert(node.outputs[0]);
      }
    }
  }

  // The ops in order: ready writers of next versions first, everything else as it was. Fewer ops than the graph has
  // where constraints contradict each other.
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

}  // namespace

Graph schedule(Graph graph) {
  const std::vector<int> producer = producers(graph);
  // Running all other readers of the old version before the writer is optional (the writer can then write in place); it
  // is dropped where ops read each other's old versions: a = a + b beside b = a - b.
  Order musts(graph);
  Order wishes = musts;
  for (const Update& update : graph.updates) {
    const int writer = producer[static_cast<std::size_t>(update.next)];
    if (writer < 0) continue;
    const auto at = static_cast<std::size_t>(writer);
    musts.hurry(at);
    wishes.hurry(at);
    wishes.add_readers_before(graph, update, at);
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
