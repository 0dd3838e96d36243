#include "ridgeline/graph/pass/recompute.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/pass/live_bytes.h"

namespace ridgeline {
namespace {

constexpr double kMostFlops = 8;  // a byte of operands and results

constexpr int kMostDepth = 4;  // of a chain of ops that are run again for one value

// A value that is not needed between two moments, and the ops that make it again at the second.
struct Gap {
  ValueId value = kNoValue;
  int until = -1;          // the reader at the end
  std::vector<int> chain;  // nodes, the one that makes the value last
  double score = 0;
};

bool cheap(const Graph& graph, const Node& node) {
  const OpDef& def = op_def(node.op);
  if (def.has(kUpdate) || def.has(kRandom) || def.has(kView) || def.has(kCall) || def.has(kCollective) ||
      node.inputs.empty())
    return false;
  const Cost cost = cost_of(graph, node);
  return cost.flops <= kMostFlops * cost.bytes;
}

class Recomputer {
 public:
  Recomputer(Graph& graph, DTypeSet again) : graph_(graph), again_(again) {
    for (const Node& node : graph.nodes) names_.insert(node.name);
  }

  // What is closed must bring the fullest moments down, in bytes or in number: else copies could follow copies for
  // ever.
  void run(LiveBytes& live, NameSet& fused) {
    LiveValues values(graph_);
    producer_ = producers(graph_);
    std::set<ValueId> useless;  // gaps over these change nothing in the graph as it is
    while (values.peak() > live.limit) {
      const std::optional<Gap> gap = best_gap(values, useless);
      if (!gap) break;
      Graph graph = graph_;
      NameSet names = names_, merged = fused;
      close(*gap, fused);
      LiveValues closed(graph_);
      if (std::pair(closed.peak(), closed.fullest_moments()) < std::pair(values.peak(), values.fullest_moments())) {
        values = std::move(closed);
        producer_ = producers(graph_);
        useless.clear();
      } else {
        graph_ = std::move(graph);
        names_ = std::move(names);
        fused = std::move(merged);
        useless.insert(gap->value);
      }
    }
    live.reached = values.peak();
    live.exhausted = values.peak() > live.limit;
  }

 private:
  // The op that gives the first result of `node` again.
  Node again_of(const Node& node) const {
    const OpDef& def = op_def(node.op);
    return def.again && again_.contains(graph_.value(node.outputs[0]).type.dtype) ? def.again(node) : node;
  }

  std::optional<Gap> best_gap(const LiveValues& values, const std::set<ValueId>& useless) const {
    std::optional<Gap> best;
    const int fullest = values.fullest();
    for (std::size_t n = 0; n < graph_.nodes.size() && static_cast<int>(n) < fullest; ++n) {
      const Node& node = graph_.nodes[n];
      if (useless.contains(node.outputs[0]) || !cheap(graph_, again_of(node))) continue;
      const auto gap = gap_of(values, static_cast<int>(n), fullest);
      if (gap && (!best || gap->score > best->score)) best = gap;
    }
    return best;
  }

  // Over the first result of node `n`, around the moment `fullest`.
  std::optional<Gap> gap_of(const LiveValues& values, int n, int fullest) const {
    Gap gap;
    gap.value = graph_.nodes[static_cast<std::size_t>(n)].outputs[0];
    if (values.bytes(gap.value) == 0 || values.viewed(gap.value)) return std::nullopt;
    int before = n;
    for (int reader : values.readers(gap.value)) {
      if (reader == fullest) return std::nullopt;
      if (reader < fullest) before = reader;
      if (reader > fullest && gap.until < 0) gap.until = reader;
    }
    // Returned values and next versions are read behind all ops.
    if (gap.until < 0 || gap.until >= static_cast<int>(graph_.nodes.size())) return std::nullopt;
    Needs needs;
    if (!collect(values, n, fullest, kMostDepth, gap, needs)) return std::nullopt;
    const double freed = static_cast<double>(values.bytes(gap.value)) - static_cast<double>(needs.kept_now);
    // Nowhere may there be more than at the fullest moment now.
    const bool fits = values.live(gap.until) + needs.kept + needs.results <= values.peak() + values.bytes(gap.value) &&
                      values.most(before, gap.until) + needs.kept <= values.peak() + values.bytes(gap.value);
    if (freed <= 0 || !fits) return std::nullopt;
    gap.score = freed / needs.cost;
    return gap;
  }

  // What making a value again takes, in bytes.
  struct Needs {
    std::size_t kept = 0;      // operands that would have been free by then
    std::size_t kept_now = 0;  // those of them that would be free at the fullest moment
    std::size_t results = 0;
    double cost = 0;  // moved
  };

  // Adds node `n` to the gap's chain, and in front of it those that make operands which are gone by then.
  bool collect(const LiveValues& values, int n, int fullest, int depth, Gap& gap, Needs& needs) const {
    const Node node = again_of(graph_.nodes[static_cast<std::size_t>(n)]);
    for (ValueId operand : node.inputs) {
      if (values.overwritten_before(operand, gap.until)) return false;
      const ValueId root = values.root(operand);
      if (values.bytes(root) == 0 || values.last(root) >= gap.until) continue;
      const int maker = producer_[static_cast<std::size_t>(operand)];
      const bool first = root == operand && graph_.nodes[static_cast<std::size_t>(maker)].outputs[0] == operand;
      const bool again = depth > 0 && first && !values.viewed(operand) &&
                         cheap(graph_, again_of(graph_.nodes[static_cast<std::size_t>(maker)]));
      if (again) {
        if (!contains(gap.chain, maker) && !collect(values, maker, fullest, depth - 1, gap, needs)) return false;
        continue;
      }
      needs.kept += values.bytes(root);
      if (values.last(root) < fullest) needs.kept_now += values.bytes(root);
    }
    gap.chain.push_back(n);
    for (ValueId result : node.outputs) needs.results += values.bytes(result);
    needs.cost += cost_of(graph_, node).bytes;
    return true;
  }

  static bool contains(const std::vector<int>& chain, int node) {
    return std::find(chain.begin(), chain.end(), node) != chain.end();
  }

  // Copies the chain in front of the first reader behind the gap; this and later readers read the copy.
  void close(const Gap& gap, NameSet& fused) {
    std::vector<Node> copies;
    std::map<ValueId, ValueId> made;
    for (int n : gap.chain) {
      Node copy = again_of(graph_.nodes[static_cast<std::size_t>(n)]);
      const bool merged = fused.contains(copy.name);
      copy.name = add_unique(names_, copy.name + "/again");
      if (merged) fused.insert(copy.name);
      for (ValueId& id : copy.inputs) {
        if (const auto inside = made.find(id); inside != made.end()) id = inside->second;
      }
      for (ValueId& id : copy.outputs) {
        const ValueInfo info = graph_.value(id);
        const ValueId fresh = graph_.add_value({info.type, info.kind, ""});
        made[id] = fresh;
        id = fresh;
      }
      copies.push_back(std::move(copy));
    }
    for (std::size_t n = static_cast<std::size_t>(gap.until); n < graph_.nodes.size(); ++n) {
      std::replace(graph_.nodes[n].inputs.begin(), graph_.nodes[n].inputs.end(), gap.value, made.at(gap.value));
    }
    graph_.nodes.insert(graph_.nodes.begin() + gap.until, copies.begin(), copies.end());
    remove_dead_nodes(graph_);  // the op itself, where all that read it read the copy now
  }

  Graph& graph_;
  DTypeSet again_;  // where the short way has the same bits
  NameSet names_;
  std::vector<int> producer_;  // by value
};

}  // namespace

Graph recompute(Graph graph, PassContext& context) {
  if (context.live.limit > 0) {
    Recomputer(graph, context.fusion.again).run(context.live, context.fused);
  } else {
    context.live.reached = LiveValues(graph).peak();
  }
  return graph;
}

}  // namespace ridgeline
