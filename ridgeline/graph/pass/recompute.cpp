#include "ridgeline/graph/pass/recompute.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/pass/live_bytes.h"
#include "ridgeline/graph/pass/step_price.h"

namespace ridgeline {
namespace {

constexpr double kMostFlops = 8;  // per byte of operands and results

constexpr int kMostDepth = 4;  // of a chain of ops that are recomputed for one value

// Without a limit recomputation may take this share of a step's work: less than steps differ from each other.
constexpr double kSpareShare = 1.0 / 90;

// What handing a launch to the team takes, as bytes through memory: some tens of microseconds.
constexpr double kLaunchBytes = 512 << 10;

// A value that is not needed between two moments, and the ops that recompute it at the second.
struct Gap {
  ValueId value = kNoValue;
  int until = -1;          // the reader at the end
  std::vector<int> chain;  // nodes, the one that makes the value last
  double work = 0;         // of the chain
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
  Recomputer(Graph& graph, const FusionLimits& device, const FlopsPerByte& rates)
      : graph_(graph), device_(device), rates_(rates) {
    for (const Node& node : graph.nodes) names_.insert(node.name);
  }

  // Down to the limit; where there is none, as far as `spare_` goes. Closing a gap must lower the peak, in bytes or in
  // the number of moments that reach it: else copying might never end.
  void run(std::size_t limit, LiveBytes& live, NameSet& fused) {
    const std::size_t ops = graph_.nodes.size();
    LiveValues values(graph_);
    live.before = values.peak();
    if (limit == 0) {
      spare_ = kSpareShare * work_of_step();
      least_ = kLaunchBytes;
    }
    producer_ = producers(graph_);
    std::set<ValueId> useless;  // gaps over these change nothing in the graph as it is
    while (values.peak() > limit) {
      const std::optional<Gap> gap = best_gap(values, useless);
      if (!gap) break;
      const Copies copies = close(*gap, fused);
      LiveValues closed(graph_);
      if (std::pair(closed.peak(), closed.fullest_moments()) < std::pair(values.peak(), values.fullest_moments())) {
        remove_dead_nodes(graph_);  // the op itself, where all that read it read the copy now
        values = LiveValues(graph_);
        spare_ -= gap->work;
        producer_ = producers(graph_);
        useless.clear();
      } else {
        reopen(*gap, copies, fused);
        useless.insert(gap->value);
      }
    }
    live.reached = values.peak();
    live.again = graph_.nodes.size() - ops;
    live.exhausted = limit > 0 && values.peak() > limit;
  }

 private:
  // In bytes through memory: its bytes, times the factor by which its kernels take longer, or its arithmetic where that
  // takes longer, plus its launch.
  double work_of(const Node& node) const {
    if (op_def(node.op).has(kView)) return 0;
    const bool narrow = !node.inputs.empty() && graph_.value(node.inputs[0]).type.dtype == DType::bf16;
    const double times = device_.times_its_bytes(node.op, graph_.value(node.outputs[0]).type.dtype);
    return op_seconds(graph_, node, {.flops = narrow ? rates_.bf16 : rates_.wide, .memory_bytes = 1 / times}) +
           kLaunchBytes;
  }

  double work_of_step() const {
    double work = 0;
    for (const Node& node : graph_.nodes) work += work_of(node);
    return work;
  }

  // The op that recomputes the first result of `node`. The short way has the bits of the op where statistics are f32.
  Node again_of(const Node& node) const {
    const OpDef& def = op_def(node.op);
    if (!def.again || !device_.again.contains(graph_.value(node.outputs[0]).type.dtype)) return node;
    const bool wide = std::all_of(node.outputs.begin() + 1, node.outputs.end(),
                                  [&](ValueId id) { return graph_.value(id).type.dtype == DType::f32; });
    return wide ? def.again(node) : node;
  }

  std::optional<Gap> best_gap(const LiveValues& values, const std::set<ValueId>& useless) const {
    std::optional<Gap> best;
    const int fullest = values.fullest();
    for (std::size_t n = 0; n < graph_.nodes.size() && static_cast<int>(n) < fullest; ++n) {
      if (useless.contains(graph_.nodes[n].outputs[0])) continue;
      const auto gap = gap_of(values, static_cast<int>(n), fullest);
      if (gap && gap->work <= spare_ && (!best || gap->score > best->score)) best = gap;
    }
    return best;
  }

  // Over the first result of node `n`, around the moment `fullest`.
  std::optional<Gap> gap_of(const LiveValues& values, int n, int fullest) const {
    Gap gap;
    gap.value = graph_.nodes[static_cast<std::size_t>(n)].outputs[0];
    if (values.bytes(gap.value) == 0 || values.viewed(gap.value)) return std::nullopt;
    if (static_cast<double>(values.bytes(gap.value)) < least_) return std::nullopt;
    int before = n;
    for (int reader : values.readers(gap.value)) {
      if (reader == fullest) return std::nullopt;
      if (reader < fullest) before = reader;
      if (reader > fullest && gap.until < 0) gap.until = reader;
    }
    // Returned values and next versions are read after all ops.
    if (gap.until < 0 || gap.until >= static_cast<int>(graph_.nodes.size())) return std::nullopt;
    if (!cheap(graph_, again_of(graph_.nodes[static_cast<std::size_t>(n)]))) return std::nullopt;
    Needs needs;
    if (!collect(values, n, fullest, kMostDepth, gap, needs)) return std::nullopt;
    const double freed = static_cast<double>(values.bytes(gap.value)) - static_cast<double>(needs.kept_now);
    // Nowhere may more be alive than at the current peak.
    const bool fits = values.live(gap.until) + needs.kept + needs.results <= values.peak() + values.bytes(gap.value) &&
                      values.most(before, gap.until) + needs.kept <= values.peak() + values.bytes(gap.value);
    if (freed <= 0 || !fits) return std::nullopt;
    gap.score = freed / gap.work;
    return gap;
  }

  // What recomputing a value takes, in bytes.
  struct Needs {
    std::size_t kept = 0;      // operands that would have been free by then
    std::size_t kept_now = 0;  // those of them that would be free at the fullest moment
    std::size_t results = 0;
  };

  // Adds node `n` to the gap's chain, and before it those that make operands which are freed by then.
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
    gap.work += work_of(node);
    return true;
  }

  static bool contains(const std::vector<int>& chain, int node) {
    return std::find(chain.begin(), chain.end(), node) != chain.end();
  }

  // What closing a gap has added to the graph.
  struct Copies {
    ValueId value;       // stands for the gap's behind it
    std::size_t count;   // nodes, from the end of the gap on
    std::size_t values;  // that there were before
  };

  // Copies the chain before the first reader after the gap; this and later readers read the copy.
  Copies close(const Gap& gap, NameSet& fused) {
    const std::size_t values = graph_.values.size();
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
    const ValueId value = made.at(gap.value);
    replace_behind(gap.until, gap.value, value);
    graph_.nodes.insert(graph_.nodes.begin() + gap.until, std::make_move_iterator(copies.begin()),
                        std::make_move_iterator(copies.end()));
    return {value, copies.size(), values};
  }

  // Undoes close().
  void reopen(const Gap& gap, const Copies& copies, NameSet& fused) {
    const auto first = graph_.nodes.begin() + gap.until;
    const auto last = first + static_cast<std::ptrdiff_t>(copies.count);
    for (auto node = first; node != last; ++node) {
      names_.erase(node->name);
      fused.erase(node->name);
    }
    graph_.nodes.erase(first, last);
    graph_.values.resize(copies.values);
    replace_behind(gap.until, copies.value, gap.value);
  }

  void replace_behind(int first, ValueId from, ValueId to) {
    for (std::size_t n = static_cast<std::size_t>(first); n < graph_.nodes.size(); ++n) {
      std::replace(graph_.nodes[n].inputs.begin(), graph_.nodes[n].inputs.end(), from, to);
    }
  }

  Graph& graph_;
  const FusionLimits& device_;
  const FlopsPerByte& rates_;
  NameSet names_;
  double spare_ = std::numeric_limits<double>::infinity();  // work that may still be added
  double least_ = 0;                                        // bytes of a value that is worth it
  std::vector<int> producer_;                               // by value
};

}  // namespace

Graph recompute(Graph graph, const PassContext& context, PassResults& results) {
  // Without updates there are no gradients that values wait for, and what is made of stored values alone is kept.
  if (context.live_limit > 0 || !graph.updates.empty()) {
    Recomputer(graph, context.fusion, context.flops_per_byte).run(context.live_limit, results.live, results.fused);
  } else {
    results.live.reached = results.live.before = LiveValues(graph).peak();
  }
  return graph;
}

}  // namespace ridgeline
