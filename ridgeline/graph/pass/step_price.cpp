#include "ridgeline/graph/pass/step_price.h"

#include <algorithm>
#include <map>

#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/op/collective.h"
#include "ridgeline/graph/pass/split_collectives.h"

namespace ridgeline {

double op_seconds(const Graph& graph, const Node& node, const RankRates& rates) {
  if (op_def(node.op).has(kView)) return 0;
  const Cost cost = cost_of(graph, node);
  return std::max(cost.flops / rates.flops, cost.bytes / rates.memory_bytes);
}

double exchange_seconds(const Graph& graph, const Node& node, const RankRates& rates) {
  const CollectiveRule& rule = collective_rule(node);
  const auto ranks = static_cast<double>(node.attributes.integer("ranks"));
  if (ranks <= 1) return 0;
  double bytes = 0;
  for (ValueId id : node.inputs) bytes += static_cast<double>(graph.value(id).type.bytes());
  if (rule.grows > 0) bytes *= ranks;
  if (rule.kind == CollectiveKind::transfer)
    return rates.call_seconds + rates.exchange_latency + bytes / rates.exchange_bytes;
  const bool all_reduce = rule.kind == CollectiveKind::all_reduce, reduce = rule.kind == CollectiveKind::reduce;
  const double ring =
      (all_reduce || reduce ? 2 : 1) * (ranks - 1) * (rates.exchange_latency + bytes / ranks / rates.exchange_bytes);
  // A tree is for what all ranks get alike or one gets of all; parts of each rank's own go around the ring.
  if (rates.tree_seconds <= 0 || !(all_reduce || reduce || rule.kind == CollectiveKind::broadcast))
    return rates.call_seconds + ring;
  const double tree = (all_reduce ? 2 : 1) * (rates.tree_seconds + bytes / rates.exchange_bytes);
  return rates.call_seconds + std::min(ring, tree);
}

double step_seconds(const Graph& step, const RankRates& rates) {
  const Graph graph = split_collectives(step);
  double now = 0, link = 0;
  std::map<ValueId, double> ends;  // of exchanges, by what is in flight
  for (const Node& node : graph.nodes) {
    const OpDef& def = op_def(node.op);
    if (def.has(kStart)) {
      link = std::max(now, link) + exchange_seconds(graph, node, rates);
      ends[node.outputs[0]] = link;
    } else if (def.has(kDone)) {
      now = std::max(now, ends[node.inputs[0]]);
    } else {
      now += op_seconds(graph, node, rates);
    }
  }
  return std::max(now, link);
}

}  // namespace ridgeline
